import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from leaseforge_cli import supervision
from leaseforge_cli.exits import CommandFailed, ExitCode
from leaseforge_cli.supervision import Child
from tests.support import Process, eventually, eventually_sync


class Script(Child):
    """A child that runs a Python script instead of a command."""

    def __init__(self, script: str, said: list[str]) -> None:
        super().__init__("worker", [], os.environ, said.append)
        self.script = script

    async def _run_once(self) -> int:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", self.script, stdin=asyncio.subprocess.PIPE, start_new_session=True
        )
        return await self._process.wait()


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "FIRST_PAUSE_S", 0.01)


async def test_a_killed_child_is_replaced_and_said_so() -> None:
    said: list[str] = []
    child = Script("import time; time.sleep(60)", said)
    keeping = asyncio.create_task(child.keep())
    first = await eventually(lambda: child.pid or 0)

    os.kill(first, signal.SIGKILL)

    second = await eventually(lambda: 0 if child.pid in (None, first) else child.pid)
    assert second != first
    assert said == ["worker was ended by SIGKILL; starting it again in 0.01 s"]
    await child.stop(within_s=10)
    await keeping


async def test_the_pause_grows_while_it_keeps_dying() -> None:
    said: list[str] = []
    child = Script("raise SystemExit(1)", said)
    keeping = asyncio.create_task(child.keep())

    await eventually(lambda: len(said) >= 4, within_s=30)
    await child.stop(within_s=10)
    keeping.cancel()

    assert [line.split(" in ")[1] for line in said[:4]] == ["0.01 s", "0.02 s", "0.04 s", "0.08 s"]


@pytest.mark.parametrize("code", [ExitCode.SETTINGS, ExitCode.ADDRESS_IN_USE, ExitCode.TASKS])
async def test_a_child_that_can_never_run_ends_everything_with_its_own_code(code: ExitCode) -> None:
    child = Script(f"raise SystemExit({code.value})", [])

    with pytest.raises(CommandFailed) as failed:
        await child.keep()

    assert failed.value.code is code


async def test_stop_is_gentle_first() -> None:
    child = Script(
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        "print('up', flush=True)\ntime.sleep(60)",
        [],
    )
    keeping = asyncio.create_task(child.keep())
    await eventually(lambda: child.pid)

    await child.stop(within_s=20)

    await keeping
    assert child.pid is None


async def test_a_child_that_will_not_stop_is_killed(tmp_path: Path) -> None:
    said: list[str] = []
    ready = tmp_path / "ready"
    child = Script(
        "import pathlib, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"pathlib.Path({str(ready)!r}).touch()\ntime.sleep(60)",
        said,
    )
    keeping = asyncio.create_task(child.keep())
    await eventually(ready.exists)

    await child.stop(within_s=0.05)

    await keeping
    assert said == ["worker did not stop within 0.05 s: killing it"]


def test_a_child_stops_when_its_parent_was_killed(tmp_path: Path, processes: Callable[..., Process]) -> None:
    """The parent holds the only writing end of the child's standard input."""
    script = (
        "import subprocess, sys, time\n"
        "code = '''import leaseforge_cli.main, runpy, sys, time, pathlib\n"
        "def wait(arguments):\n"
        "    try:\n"
        "        pathlib.Path(arguments[0]).write_text('up'); time.sleep(60)\n"
        "    finally:\n"
        "        pathlib.Path(arguments[0]).write_text('stopped')\n"
        "import signal; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        "leaseforge_cli.main.main = wait\n"
        'runpy.run_module("leaseforge_cli.child", run_name="__main__")\'\'\'\n'
        f"subprocess.Popen([sys.executable, '-c', code, {str(tmp_path / 'state')!r}], stdin=subprocess.PIPE,"
        " start_new_session=True)\n"
        "time.sleep(60)\n"
    )
    parent = processes([sys.executable, "-c", script])
    state = tmp_path / "state"
    eventually_sync(lambda: state.exists() and state.read_text() == "up")

    parent.signal(signal.SIGKILL)

    eventually_sync(lambda: state.read_text() == "stopped")
