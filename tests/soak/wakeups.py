"""Jobs that come at the very moments in which workers go idle: each must start without any sweep."""

import os
import random
import select
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from leaseforge import exchanges, operations
from leaseforge.jobs import NewJob
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from tests.soak.idle import client_requests
from tests.support import Process
from tests.support.waiting import eventually_sync

QUEUES = ("first", "second", "third")
SHAPES = ({"workers": 1, "slots": 1}, {"workers": 2, "slots": 2})
"""A worker that waits only between two jobs, and two that wait all the time and compete."""
_PATIENCE_S = 15.0
_WINDOW_S = 0.004
"""An idle worker claimed in vain and waits for tokens within about 2 ms of its last job's start."""


@dataclass(slots=True)
class WakeUps:
    """How often workers were woken. `missed` jobs had to be helped by a sweep; `waits` were answered by a token."""

    tries: int = 0
    missed: int = 0
    waits: int = 0
    took_s: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.tries} jobs enqueued around the moment a worker goes idle: {self.missed} needed a sweep "
            f"({self.waits} waits for tokens, {self.took_s:.0f} s)"
        )


def provoke(
    start: Callable[..., Process],
    store: SyncStore,
    url: str,
    folder: Path,
    *,
    tries: int,
    chance: random.Random,
    workers: int,
    slots: int,
) -> WakeUps:
    """Enqueues one to three jobs at a time, at a random moment after the last ones started."""
    fifo = folder / "started"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    done = WakeUps()
    try:
        for queue in QUEUES:  # so that no queue is new to the first try
            store.run(operations.enqueue(new_job("tell", 0, queue=queue)))
        words = [sys.executable, "-m", "tests.soak.tickless", url, ",".join(QUEUES), str(slots), fifo]
        crew = [start(words) for _ in range(workers)]
        for one in crew:
            one.wait_for_output("worker_started", within_s=60)
        assert _started(reading, len(QUEUES)) == len(QUEUES), crew[0].output()
        before, began = client_requests(store), time.monotonic()
        while done.tries < tries:
            jobs = [_job(chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
            _spin(chance.uniform(0, _WINDOW_S))
            for job in jobs:
                store.run(operations.enqueue(job))
            done.tries += len(jobs)
            missing = len(jobs) - _started(reading, len(jobs))
            if missing:
                for one in crew:
                    one.check_running()
                done.missed += missing
                _help(store, reading, missing)
        done.took_s = time.monotonic() - began
        done.waits = client_requests(store)["blpop"] - before.get("blpop", 0)
        for one in crew:
            one.end()
    finally:
        os.close(reading)
    return done


def _job(chance: random.Random) -> NewJob:
    """A job of one of the queues that ends at once or after a moment."""
    return new_job("tell", chance.choice((0, 0, 0, 0.001)), queue=chance.choice(QUEUES))


def _started(reading: int, count: int) -> int:
    """Waits for so many starts; how many came in time."""
    come, deadline = 0, time.monotonic() + _PATIENCE_S
    while come < count and (left := deadline - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            come += len(os.read(reading, count - come))
    return come


def _help(store: SyncStore, reading: int, missing: int) -> None:
    """What the sweeps of ordinary workers would do within 2 s."""

    def came() -> bool:
        nonlocal missing
        for queue in QUEUES:
            store.run(exchanges.tick(queue))
        if select.select([reading], [], [], 0.2)[0]:
            missing -= len(os.read(reading, missing))
        return missing <= 0

    eventually_sync(came, within_s=60)


def _spin(seconds: float) -> None:
    """Shorter than a sleep can be."""
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        pass
