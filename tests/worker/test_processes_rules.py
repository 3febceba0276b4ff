"""When a parent starts a process again, when it gives up, and with which status it ends.

The processes are real, but no workers: small programs that speak with their parent and end as a test wants it.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from leaseforge_worker import process as process_module
from leaseforge_worker import processes
from leaseforge_worker.processes import Processes, ProcessesFailed
from leaseforge_worker.settings import WorkerSettings
from tests.support.waiting import eventually

# argv: the descriptor, what to do; the number of the life comes from the file `lives`, which grows by a byte a life.
PROGRAM = """
import json, os, signal, socket, sys
parent = socket.socket(fileno=int(sys.argv[1]))
lives = os.open("lives", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(lives, b".")
life = os.fstat(lives).st_size

def began():
    parent.sendall(b'{"began": true}\\n')

def serve(status):
    def leave(*_):
        os._exit(status)
    signal.signal(signal.SIGTERM, leave)
    began()
    for line in parent.makefile("rb"):
        question = json.loads(line)
        answer = {"number": question["number"], "state": "running", "redis_ok": True, "accepts_work": True}
        parent.sendall(json.dumps(answer).encode() + b"\\n")

"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pauses: their growth is tested where they are made."""
    monkeypatch.setattr(processes, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(processes, "LONGEST_PAUSE_S", 0.05)


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Processes]:
    """Makes a parent of processes that run these lines."""
    monkeypatch.chdir(tmp_path)

    def make(lines: str, *, count: int = 1, drain_s: float = 5.0) -> Processes:
        settings = WorkerSettings(processes=count, metrics_address=None, drain_s=drain_s)
        return Processes(settings, lambda fd: [sys.executable, "-c", PROGRAM + lines, str(fd)], hopeless={7})

    return make


@pytest.fixture
def logs() -> Iterator[list[dict[str, object]]]:
    """What the parent logs."""
    with capture_logs() as captured:
        yield captured  # type: ignore[misc]  # structlog's own type for the same dictionaries


def of(logs: list[dict[str, object]], event: str) -> list[dict[str, object]]:
    return [line for line in logs if line["event"] == event]


def lives() -> int:
    """How many processes have been started."""
    return Path("lives").stat().st_size if Path("lives").exists() else 0


async def test_the_others_start_when_the_first_takes_up_work(parent: Callable[..., Processes]) -> None:
    whole = parent("while not os.path.exists('go'): pass\nserve(0)", count=3)
    running = asyncio.create_task(whole.run())
    await eventually(lambda: lives() == 1)
    await asyncio.sleep(0.1)
    assert lives() == 1

    Path("go").touch()

    await eventually(lambda: lives() == 3)
    whole.ask_to_stop()
    assert await running == 0


async def test_a_first_process_that_says_why_it_cannot_start_ends_the_whole(parent: Callable[..., Processes]) -> None:
    with pytest.raises(ProcessesFailed, match="cannot run like this, see above") as failed:
        await parent("sys.exit(7)", count=3).run()

    assert (failed.value.status, lives()) == (7, 1)


async def test_starts_that_come_to_nothing_end_the_whole_after_five(
    parent: Callable[..., Processes], logs: list[dict[str, object]]
) -> None:
    with pytest.raises(ProcessesFailed, match=r"after 5 starts .* process 1, was ended by SIGSEGV") as failed:
        await parent("os.kill(os.getpid(), signal.SIGSEGV)", count=3).run()

    assert (failed.value.status, lives()) == (128 + signal.SIGSEGV, 5)
    assert len(of(logs, "process_ended")) == 4


async def test_a_process_that_dies_at_work_is_always_started_again(
    parent: Callable[..., Processes], logs: list[dict[str, object]]
) -> None:
    whole = parent("serve(0) if life > 8 else (began(), os._exit(1))")
    running = asyncio.create_task(whole.run())

    await eventually(lambda: lives() == 9)
    whole.ask_to_stop()

    assert await running == 0
    assert {line["how"] for line in of(logs, "process_ended")} == {"ended with exit code 1"}


async def test_one_that_cannot_start_again_does_not_take_those_that_work_along(
    parent: Callable[..., Processes], logs: list[dict[str, object]]
) -> None:
    whole = parent("serve(0) if life == 1 else sys.exit(7)", count=2)
    running = asyncio.create_task(whole.run())

    await eventually(lambda: lives() >= 9)
    whole.ask_to_stop()

    assert await running in {0, 7}  # 7 if one failed right while all were told to stop
    assert {line["process"] for line in of(logs, "process_ended")} == {2}


async def test_a_worn_out_process_is_replaced_at_once(
    parent: Callable[..., Processes], logs: list[dict[str, object]]
) -> None:
    whole = parent("serve(0) if life > 1 else (began(), os._exit(75))")
    running = asyncio.create_task(whole.run())

    await eventually(lambda: lives() == 2)
    whole.ask_to_stop()

    assert await running == 0
    [ended] = of(logs, "process_ended")
    assert (ended["how"], ended["next_start_in_s"]) == ("ended with exit code 75", 0.0)


async def test_the_status_is_the_worst_of_all(parent: Callable[..., Processes]) -> None:
    whole = parent("serve(0 if life != 2 else 9)", count=3)
    running = asyncio.create_task(whole.run())

    await eventually(lambda: sum(process.has_begun for process in whole._processes) == 3)
    whole.ask_to_stop()

    assert await running == 9


async def test_one_that_is_told_to_stop_before_it_works_ended_as_asked(parent: Callable[..., Processes]) -> None:
    whole = parent("signal.pause()")
    running = asyncio.create_task(whole.run())
    await eventually(lambda: lives() == 1)

    whole.ask_to_stop()

    assert await running == 0


async def test_a_request_to_stop_reaches_one_that_is_just_being_started(parent: Callable[..., Processes]) -> None:
    whole = parent("serve(0)")
    running = asyncio.create_task(whole.run())
    await asyncio.sleep(0)

    whole.ask_to_stop()

    assert await running == 0


async def test_one_that_does_not_leave_is_killed(
    parent: Callable[..., Processes], logs: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "LEAVES_WITHIN_S", 0.1)
    whole = parent("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nbegan()\nwhile True: signal.pause()", drain_s=0.1)
    running = asyncio.create_task(whole.run())
    await eventually(lambda: whole._processes[0].has_begun)

    whole.ask_to_stop()

    assert await running == 128 + signal.SIGKILL
    assert len(of(logs, "process_killed")) == 1


async def test_a_second_signal_kills_all(parent: Callable[..., Processes]) -> None:
    whole = parent("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nbegan()\nwhile True: signal.pause()", count=2)
    running = asyncio.create_task(whole.run())
    await eventually(lambda: sum(process.has_begun for process in whole._processes) == 2)

    os.kill(os.getpid(), signal.SIGTERM)
    await eventually(whole._stop.is_set)
    os.kill(os.getpid(), signal.SIGINT)

    assert await running == 128 + signal.SIGINT
    assert [process.pid for process in whole._processes] == [None, None]


async def test_a_question_to_a_process_that_dies_is_not_waited_for(
    parent: Callable[..., Processes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "ANSWERS_WITHIN_S", 1e6)
    whole = parent("serve(0) if life > 1 else (began(), parent.recv(1), os._exit(1))")
    running = asyncio.create_task(whole.run())
    [process] = whole._processes
    await eventually(lambda: process.has_begun)

    assert await asyncio.wait_for(process.ask(metrics=False), 20) is None

    await eventually(lambda: lives() == 2 and process.has_begun)
    answer = await asyncio.wait_for(process.ask(metrics=False), 20)
    assert answer is not None
    assert answer.redis_ok
    whole.ask_to_stop()
    assert await running == 0
