"""A worker process's end of the line to its parent."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leaseforge.workers import WorkerState
from leaseforge_worker.channel import ParentChannel
from leaseforge_worker.health import Health
from tests.support.waiting import eventually_sync


class Told:
    """A worker whose answers a test sets."""

    def __init__(self) -> None:
        self.state = WorkerState.RUNNING
        self.stops = 0
        self.page: Callable[[], bytes] = lambda: b"metric 1\n"

    def health(self) -> Health:
        return Health(redis_ok=True, accepts_work=False)

    def metrics(self) -> bytes:
        return self.page()

    def ask_to_stop(self) -> None:
        self.stops += 1


class Line:
    """The parent's end, a worker at the other."""

    def __init__(self) -> None:
        self.ours, theirs = socket.socketpair()
        self.ours.settimeout(10)
        self.lines = self.ours.makefile("rb")
        self.worker = Told()
        self.channel = ParentChannel(theirs.detach())
        self.channel.serve(self.worker)

    def ask(self, number: int, *, metrics: bool) -> dict[str, Any]:
        self.ours.sendall(json.dumps({"number": number, "metrics": metrics}).encode() + b"\n")
        answer: dict[str, Any] = json.loads(self.lines.readline())
        return answer

    def hang_up(self) -> None:
        self.lines.close()
        self.ours.close()


def test_questions_are_answered_by_number() -> None:
    line = Line()
    known = {"state": "running", "redis_ok": True, "accepts_work": False}

    assert line.ask(7, metrics=False) == {"number": 7, **known, "metrics": ""}
    assert line.ask(8, metrics=True) == {"number": 8, **known, "metrics": "metric 1\n"}
    line.channel.began()
    assert json.loads(line.lines.readline()) == {"began": True}
    assert (line.channel.gone, line.worker.stops) == (False, 0)
    line.hang_up()


@pytest.mark.parametrize("last_words", [b"", b'{"number": 9, "met', b"\xff\n"])
def test_the_end_of_the_line_drains_the_worker_whatever_was_said_last(last_words: bytes) -> None:
    line = Line()
    line.ours.sendall(last_words)

    line.hang_up()

    eventually_sync(lambda: line.worker.stops == 1)
    assert line.channel.gone
    line.channel.began()  # nobody is there to hear it, which is no error


def test_a_worker_that_comes_when_the_parent_is_gone_drains_too() -> None:
    line = Line()
    line.hang_up()
    eventually_sync(lambda: line.channel.gone)
    late = Told()

    line.channel.serve(late)

    assert late.stops == 1


def test_a_defect_in_an_answer_ends_in_a_drain_and_not_in_a_deaf_process() -> None:
    line = Line()

    def broken() -> bytes:
        raise ZeroDivisionError

    line.worker.page = broken
    line.ours.sendall(b'{"number": 1, "metrics": true}\n')

    eventually_sync(lambda: line.worker.stops == 1)
    line.hang_up()


def test_a_process_that_still_loads_its_tasks_ends_with_its_parent(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        program = (
            "import sys, time; from leaseforge_worker.channel import ParentChannel\nParentChannel(int(sys.argv[1]))\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", program + "print('loading', flush=True); time.sleep(60)", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stdout=subprocess.PIPE,
            cwd=tmp_path,
        )
    assert child.stdout is not None
    assert child.stdout.readline() == b"loading\n"

    ours.close()

    assert child.wait(20) == 0
    child.stdout.close()


def test_only_a_socket_can_be_the_line(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR)

    with pytest.raises(OSError, match="socket"):
        ParentChannel(descriptor)
    os.close(descriptor)
