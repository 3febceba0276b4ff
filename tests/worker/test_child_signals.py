import asyncio
import signal
import sys

from leaseforge_worker.child_signals import signal_child


async def test_a_child_that_ends_while_it_is_signalled_keeps_its_status() -> None:
    for _ in range(5):
        child = await asyncio.create_subprocess_exec(sys.executable, "-S", "-c", "raise SystemExit(7)")
        while child.returncode is None:
            signal_child(child, signal.SIGCONT)
            await asyncio.sleep(0)
        assert child.returncode == 7


async def test_one_that_has_ended_is_left_alone() -> None:
    child = await asyncio.create_subprocess_exec(sys.executable, "-S", "-c", "")
    await child.wait()

    signal_child(child, signal.SIGKILL)

    assert child.returncode == 0
