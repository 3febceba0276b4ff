"""What a job costs a server: memory while it waits, and commands on its way through."""

from dataclasses import dataclass
from typing import Any

from leaseforge import exchanges, operations
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.keys import queue_key
from leaseforge.requests import new_job
from leaseforge.store import SyncStore

QUEUE = "cost"
PAYLOAD = b'{"to":"ada@example.com","subject":"Your invoice","invoice":' + b"7" * 40 + b"}"
BATCH = 16


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of one queued job: its record, its payload's key, its share of the ready set; and all of it as measured."""

    record: float
    payload: float
    place: float
    used: float

    @property
    def keys(self) -> float:
        """The sum of what the server says of the keys."""
        return self.record + self.payload + self.place


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands a job takes, the script calls included, by command."""

    enqueue: dict[str, float]
    exchange: dict[str, float]


def measure_memory(store: SyncStore, raw: Any, *, jobs: int = 5000) -> Memory:
    """Queues so many jobs with a payload of 100 bytes in an empty database and asks what they take."""
    assert len(PAYLOAD) == 100
    store.run(operations.enqueue(new_job("send_email", PAYLOAD, queue=QUEUE, content_type="application/json")))
    before = int(raw.info("memory")["used_memory"])
    ids = []
    for start in range(0, jobs, 1000):
        batch = [
            new_job("send_email", PAYLOAD, queue=QUEUE, content_type="application/json")
            for _ in range(min(1000, jobs - start))
        ]
        ids += [one.id for one in store.run(operations.enqueue_many(batch))]
    used = int(raw.info("memory")["used_memory"]) - before
    pipeline = raw.pipeline(transaction=False)
    for job_id in ids[:200]:
        pipeline.memory_usage(queue_key(QUEUE, f"job:{job_id}"))
        pipeline.memory_usage(queue_key(QUEUE, f"job:{job_id}:in"))
    sizes = pipeline.execute()
    ready = raw.memory_usage(queue_key(QUEUE, "ready"), samples=0)
    return Memory(sum(sizes[::2]) / 200, sum(sizes[1::2]) / 200, ready / (jobs + 1), used / jobs)


def measure_commands(store: SyncStore, raw: Any, *, rounds: int = 50) -> Commands:
    """Lets jobs through in batches of 16: enqueued by one call, then each exchange settles 16 and claims 16."""
    jobs = [new_job("send_email", PAYLOAD, queue=QUEUE) for _ in range(BATCH * rounds)]
    # What happens once, such as a queue's name being told, is no cost of a job.
    store.run(operations.enqueue_many([new_job("send_email", PAYLOAD, queue=QUEUE)]))
    raw.config_resetstat()
    for start in range(0, len(jobs), BATCH):
        store.run(operations.enqueue_many(jobs[start : start + BATCH]))
    enqueued = _calls(raw)
    held: list[Settlement] = []
    for number in range(1, rounds + 1):
        call = exchanges.exchange(QUEUE, run_id="cost", number=number, lease_ms=60_000, want=BATCH, settlements=held)
        held = [Settlement(job.id, job.token, Outcome.COMPLETE) for job in store.run(call).claimed]
        if number == 1:
            # It has settled nothing; the steady state begins with the next one.
            raw.config_resetstat()
    exchanged = _calls(raw)
    return Commands(
        {name: calls / len(jobs) for name, calls in enqueued.items()},
        {name: calls / (len(jobs) - BATCH) for name, calls in exchanged.items()},
    )


def _calls(raw: Any) -> dict[str, int]:
    stats = raw.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): int(entry["calls"]) for name, entry in stats.items()}
    return {name: count for name, count in sorted(calls.items()) if name.split("|")[0] not in _OURS}


_OURS = frozenset({"config", "info", "hello", "client", "select", "script", "flushdb"})
"""What the measuring and connecting itself sends."""
