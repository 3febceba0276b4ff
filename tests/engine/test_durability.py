"""A killed server keeps every job it acknowledged, and every program goes on by itself."""

import os
import signal
import threading
from pathlib import Path

from leaseforge import exchanges
from leaseforge.client import Client
from leaseforge.embedded import EmbeddedServer
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.store import connect_sync
from tests.support import OwnServer, eventually_sync
from tests.support.audit import snapshot
from tests.support.live_queue import LiveQueue

JOBS = 300
PRODUCERS = 3


class Producer(threading.Thread):
    """Enqueues one job after the other and remembers the ids the server acknowledged."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.acknowledged: list[str] = []

    def run(self) -> None:
        with Client(self.url, retry_s=60.0) as client:
            while len(self.acknowledged) < JOBS // PRODUCERS:
                self.acknowledged.append(client.enqueue("work", b"{}", queue="line").id)


class Consumer(threading.Thread):
    """Claims and completes until told that all is done; sends an unanswered exchange again."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.completed = 0
        self.enough = threading.Event()

    def run(self) -> None:
        with connect_sync(self.url, retry_s=60.0) as store:
            number, settlements = 0, list[Settlement]()
            while not self.enough.is_set():
                number += 1
                answer = store.run(
                    exchanges.exchange(
                        "line", run_id="w1", number=number, lease_ms=60_000, want=8, settlements=settlements
                    )
                )
                self.completed += len(settlements)
                settlements = [Settlement(job.id, job.token, Outcome.COMPLETE) for job in answer.claimed]


def test_acknowledged_jobs_survive_a_killed_server_and_run_once(server: OwnServer, tmp_path: Path) -> None:
    embedded = EmbeddedServer(tmp_path / "data", binary=server.embedded.binary)
    with embedded:
        producers = [Producer(embedded.url) for _ in range(PRODUCERS)]
        consumer = Consumer(embedded.url)
        for thread in (*producers, consumer):
            thread.start()
        for kills in (1, 2):
            goal = kills * JOBS // 4
            eventually_sync(lambda goal=goal: sum(len(p.acknowledged) for p in producers) >= goal, within_s=60)  # type: ignore[misc]
            assert embedded.pid is not None
            os.kill(embedded.pid, signal.SIGKILL)
            eventually_sync(embedded.has_died)
            embedded.start()
        for producer in producers:
            producer.join(60)
        acknowledged = [job_id for producer in producers for job_id in producer.acknowledged]
        eventually_sync(lambda: consumer.completed >= JOBS, within_s=60)
        consumer.enough.set()
        consumer.join(60)

        with LiveQueue(embedded.url) as line:
            line.audit()
            seen = snapshot(line.raw, "line")

    assert len(acknowledged) == JOBS
    assert set(acknowledged) == seen.records.keys()
    assert {record["state"] for record in seen.records.values()} == {"completed"}
    assert all("failures" not in record for record in seen.records.values())
    assert (seen.counts["enqueued"], seen.counts["completed"]) == (JOBS, JOBS)
