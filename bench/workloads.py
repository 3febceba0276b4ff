"""The workloads, and the floor of each: the shortest loop that moves the same bytes through the same server."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.server import Bench, Measured, Stopwatch
from leaseforge import Client, JobState, new_job, reads

ROOT = Path(__file__).parents[1]
BULK = 1000
# Raw text, as a producer over HTTP hands it on: neither side pays for encoding.
PAYLOAD = b'{"number":123456}'
QUEUE = "bench"
GIVE_UP_AFTER_S = 300.0


@dataclass(frozen=True, slots=True)
class Workload:
    """One thing to measure, ours and its floor; both take a clean server and a number of jobs."""

    name: str
    ours: Callable[[Bench, int], Measured]
    floor: Callable[[Bench, int], Measured]


def enqueue_singly(bench: Bench, jobs: int) -> Measured:
    """One call a job."""
    with Client(bench.url) as client:
        client.enqueue("nothing", PAYLOAD, queue=QUEUE)
        watch = Stopwatch(bench.raw)
        for _ in range(jobs):
            client.enqueue("nothing", PAYLOAD, queue=QUEUE)
        return watch.measured(jobs)


def push_singly(bench: Bench, jobs: int) -> Measured:
    """One RPUSH a job."""
    bench.raw.rpush(QUEUE, PAYLOAD)
    watch = Stopwatch(bench.raw)
    for _ in range(jobs):
        bench.raw.rpush(QUEUE, PAYLOAD)
    return watch.measured(jobs)


def enqueue_in_bulk(bench: Bench, jobs: int) -> Measured:
    """A thousand jobs a call, building them included."""
    with Client(bench.url) as client:
        client.enqueue("nothing", PAYLOAD, queue=QUEUE)
        watch = Stopwatch(bench.raw)
        for _ in range(0, jobs, BULK):
            client.enqueue_many([new_job("nothing", PAYLOAD, queue=QUEUE) for _ in range(BULK)])
        return watch.measured(jobs)


def push_in_bulk(bench: Bench, jobs: int) -> Measured:
    """A thousand values a call."""
    watch = Stopwatch(bench.raw)
    for _ in range(0, jobs, BULK):
        bench.raw.rpush(QUEUE, *[PAYLOAD] * BULK)
    return watch.measured(jobs)


def drain(bench: Bench, jobs: int) -> Measured:
    """A worker process on a full queue, from resume to the last completion."""
    with Client(bench.url) as client:
        client.enqueue("nothing", PAYLOAD, queue=QUEUE)
        client.pause(QUEUE)
        for _ in range(0, jobs, BULK):
            client.enqueue_many([new_job("nothing", PAYLOAD, queue=QUEUE) for _ in range(BULK)])
        with _worker(bench):
            _until(lambda: bool(client.run(reads.workers()).items))
            watch = Stopwatch(bench.raw)
            client.resume(QUEUE)
            _until(lambda: client.queue(QUEUE).counts[JobState.COMPLETED] >= jobs)
            return watch.measured(jobs)


def pop(bench: Bench, jobs: int) -> Measured:
    """LPOP, parse, call."""

    def nothing(_payload: object) -> None:
        return None

    for _ in range(0, jobs, BULK):
        bench.raw.rpush(QUEUE, *[PAYLOAD] * BULK)
    decode = msgspec.json.Decoder(dict[str, int]).decode
    watch = Stopwatch(bench.raw)
    while isinstance(payload := bench.raw.lpop(QUEUE), bytes):
        nothing(decode(payload))
    return watch.measured(jobs)


WORKLOADS = (
    Workload("enqueue, one by one", enqueue_singly, push_singly),
    Workload("enqueue, bulk", enqueue_in_bulk, push_in_bulk),
    Workload("drain", drain, pop),
)


@contextmanager
def _worker(bench: Bench) -> Iterator[None]:
    command = [sys.executable, "-c", "from leaseforge_cli.main import main; main()", "worker", "bench.tasks"]
    options = ["--queues", QUEUE, "--concurrency", "16", "--metrics-addr", "off", "--log-level", "error"]
    environment = os.environ | {"LEASEFORGE_REDIS_URL": bench.url}
    process = subprocess.Popen([*command, *options], cwd=ROOT, env=environment)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def _until(condition: Callable[[], bool]) -> None:
    """Poll every 10 ms: each look costs the server a few dozen us, and is part of what is measured."""
    deadline = time.monotonic() + GIVE_UP_AFTER_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"gave up after {GIVE_UP_AFTER_S:g} s")
        time.sleep(0.01)
