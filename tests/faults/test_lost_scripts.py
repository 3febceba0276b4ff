"""A server that forgets and kills scripts, and tells everybody else to wait while one runs."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import redis

from leaseforge.client import Client
from leaseforge.requests import new_job
from leaseforge.store import connect
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced, Producer
from tests.faults.servers import FaultyServer
from tests.faults.workers import Crew, log_lines
from tests.support.processes import Process
from tests.worker.workers import all_ended

EVERY_S = 0.01


@contextmanager
def repeating(url: str, act: Callable[[Any], object], *, every_s: float) -> Iterator[Counter[str]]:
    """Acts on the server again and again from a thread of its own; counts what came of it by its first word."""
    stop = threading.Event()
    answers: Counter[str] = Counter()

    def go_on() -> None:
        with redis.Redis.from_url(url) as client:
            while not stop.wait(every_s):
                try:
                    act(client)
                except redis.ResponseError as error:
                    answers[str(error).partition(" ")[0]] += 1
                else:
                    answers["done"] += 1

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield answers
    finally:
        stop.set()
        thread.join()


async def test_jobs_run_once_though_scripts_are_forgotten_killed_and_in_each_others_way(
    faulty_server: Callable[..., FaultyServer], processes: Callable[..., Process], ledger: Ledger, produced: Produced
) -> None:
    server = faulty_server(fsync="no")
    crew = Crew(processes, server.url, ledger)
    workers = crew.workers(2, lease_s=5.0, concurrency=16)
    with server.client() as client:
        client.config_set("busy-reply-threshold", 1)
    with (
        repeating(server.url, lambda client: client.script_flush(), every_s=EVERY_S) as flushes,
        repeating(server.url, lambda client: client.script_kill(), every_s=0.02) as kills,
        repeating(server.url, lambda client: client.eval("while true do end", 0), every_s=0.2) as endless,
        Producer(server.url, produced, count=300),
        Producer(server.url, produced, count=300, make=_later),
    ):
        _enqueue_in_bulk(server.url, produced, bulks=2, size=1000)
        async with connect(server.url, retry_s=20.0) as store:
            done = await all_ended(store, 2600, within_s=90)

    assert done == {"completed": 2600}
    assert len(produced.acknowledged) == 2600
    assert flushes["done"] > 0
    assert kills["done"] > 0
    assert "done" not in endless
    for worker in workers:
        worker.end()
        assert not log_lines(worker, "loop_crashed")
    assert Counter(line.job for line in ledger.noted("start")) == Counter(produced.acknowledged)
    audit(server.url, ledger, produced, lease_ms=5000)


def _later(number: int, id: str) -> Any:
    return new_job("work", {"ms": 1}, id=id, delay_ms=number % 5 * 200)


def _enqueue_in_bulk(url: str, produced: Produced, *, bulks: int, size: int) -> None:
    """Long calls: there is time to kill one, and to be told to wait for it."""
    with Client(url, retry_s=30.0) as client:
        for _ in range(bulks):
            produced.add(*(one.id for one in client.enqueue_many([new_job("work", {"ms": 1}) for _ in range(size)])))
            time.sleep(0.05)
