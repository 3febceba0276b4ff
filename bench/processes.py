"""Worker processes and bare loops, started for one run and stopped after it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from bench.measuring import until
from bench.server import QUEUE, Bench, WorkloadFailed
from leaseforge import Client, reads

ROOT = Path(__file__).parents[1]
_COMMAND = (sys.executable, "-c", "from leaseforge_cli.main import main; main()")
_SETTLED_S = 0.3
_LEAVES_WITHIN_S = 60.0


class BareSpec(msgspec.Struct, frozen=True):
    """What a bare loop does (see bench.bare): claims so many at once, and ends them all the same way."""

    url: str
    batch: int
    fails: bool = False
    expects: int = 0
    """With a number of jobs it waits on the wake token and times each job, until it has had so many."""


class Children:
    """Processes of one kind."""

    def __init__(self, processes: Sequence["subprocess.Popen[str]"], log: Path) -> None:
        self._processes = processes
        self._log = log

    @property
    def pids(self) -> list[int]:
        """Their process ids."""
        return [process.pid for process in self._processes]

    def check(self) -> None:
        """Raises WorkloadFailed if one of them has died."""
        for process in self._processes:
            if process.poll() not in (None, 0):
                raise WorkloadFailed(f"a process ended with status {process.returncode}: {self._last_words()}")

    def go(self) -> None:
        """Lets bare loops begin."""
        for process in self._processes:
            _pipe(process.stdin).write("go\n")
            _pipe(process.stdin).flush()

    def reports(self) -> list[Any]:
        """What each bare loop says in the end, waited for."""
        lines = [_pipe(process.stdout).readline() for process in self._processes]
        if not all(lines):
            raise WorkloadFailed(f"a bare loop said nothing: {self._last_words()}")
        return [json.loads(line) for line in lines]

    def _last_words(self) -> str:
        return _end_of(self._log)


@contextmanager
def workers(
    bench: Bench, *, processes: int = 1, concurrency: int | None = None, batch: int | None = None, sampled: str = ""
) -> Iterator[Children]:
    """Worker processes as the command line starts them, registered and at rest; stopped in order.

    None leaves a setting at its default. `sampled` is a file for the samples of bench.sampler. Raises WorkloadFailed
    if one dies, does not come up, or does not leave with status 0.
    """
    command = [sys.executable, "-m", "bench.sampler", sampled] if sampled else [*_COMMAND]
    command += ["worker", "bench.tasks", "--queues", QUEUE]
    for flag, value in (("--concurrency", concurrency), ("--batch-size", batch)):
        if value is not None:
            command += [flag, str(value)]
    with (
        _children(bench, command, processes, stop=lambda process: process.terminate()) as children,
        Client(bench.url) as client,
    ):
        until(lambda: client.run(reads.workers()).total, processes, what="workers are up", check=children.check)
        time.sleep(_SETTLED_S)
        yield children


@contextmanager
def bare_loops(bench: Bench, spec: BareSpec, *, processes: int = 1) -> Iterator[Children]:
    """Bare loops that are connected and wait for `go`."""
    command = [sys.executable, "-m", "bench.bare", msgspec.json.encode(spec).decode()]
    with _children(bench, command, processes, stop=lambda process: _pipe(process.stdin).close()) as children:
        if children.reports() != ["ready"] * processes:
            raise WorkloadFailed("a bare loop did not come up")
        yield children


@contextmanager
def _children(
    bench: Bench, command: Sequence[str], count: int, *, stop: Callable[["subprocess.Popen[str]"], None]
) -> Iterator[Children]:
    # What the caller has set for workers of their own must not decide what is measured.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LEASEFORGE_")}
    environment |= {"LEASEFORGE_REDIS_URL": bench.url, "LEASEFORGE_METRICS_ADDR": "off", "LEASEFORGE_TRACEBACK": "1"}
    log = bench.folder / "children.log"
    processes: list[subprocess.Popen[str]] = []
    is_worker = "worker" in command
    with log.open("w") as out:
        try:
            for _ in range(count):
                pipe = out if is_worker else subprocess.PIPE
                processes.append(
                    subprocess.Popen(
                        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=pipe, stderr=out, text=True
                    )
                )
            yield Children(processes, log)
        finally:
            for process in processes:
                stop(process)
            for process in processes:
                _end(process)
    statuses = [process.returncode for process in processes]
    if any(statuses):
        raise WorkloadFailed(f"processes ended with {statuses}: {_end_of(log)}")


def _end(process: "subprocess.Popen[str]") -> None:
    try:
        process.wait(_LEAVES_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _end_of(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-600:].strip()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise WorkloadFailed("this process has no pipe")
    return pipe
