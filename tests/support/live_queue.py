"""A queue on a real server for a test: driven through the product's own calls, looked at and broken by a raw client."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self, TypeVar, cast

import redis

from leaseforge import exchanges, limits, operations, reads
from leaseforge.answers import Answer
from leaseforge.calls import Call, Plan, queue_keys
from leaseforge.claimed import Claimed
from leaseforge.exchanges import Exchanged, Outcome, Settlement, Ticked
from leaseforge.jobs import Job, JobState
from leaseforge.keys import queue_key
from leaseforge.requests import new_job
from leaseforge.scripts import ENGINE
from leaseforge.store import connect_sync
from tests.support.audit import Snapshot, audit, differences, snapshot

T = TypeVar("T")
LEASE_MS = 60_000
"""Long, so that no pause of a busy machine decides what a test sees."""


class LiveQueue:
    """One queue of the store at `url`. Times are shifted by moving scores, never by waiting.

    `foreign` counts entries a test planted that the queue then keeps as dead letters: the audit allows for them.
    """

    def __init__(self, url: str, name: str = "line") -> None:
        self.name = name
        self.url = url
        self.raw: Any = redis.Redis.from_url(url)
        self.store = connect_sync(url)
        self.foreign = 0
        self._number = 0

    def close(self) -> None:
        self.store.close()
        self.raw.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, work: Call[T] | Plan[T]) -> T:
        return self.store.run(work)

    # what producers, workers and operators do

    def add(self, type: str = "work", payload: Any = b"{}", **fields: Any) -> str:
        """Enqueues one job; its id."""
        return self.run(operations.enqueue(new_job(type, payload, queue=self.name, **fields))).id

    def add_many(self, count: int, **fields: Any) -> list[str]:
        """Enqueues equal jobs in one call; their ids."""
        jobs = [new_job("work", b"{}", queue=self.name, **fields) for _ in range(count)]
        return [stored.id for stored in self.run(operations.enqueue_many(jobs))]

    def exchange(
        self,
        want: int = 0,
        settlements: Sequence[Settlement] = (),
        *,
        run_id: str = "w1",
        number: int | None = None,
        lease_ms: int = LEASE_MS,
    ) -> Exchanged:
        """One exchange under the next number, or again under one that was used."""
        if number is None:
            number = self._number + 1
        self._number = max(self._number, number)
        return self.run(
            exchanges.exchange(
                self.name, run_id=run_id, number=number, lease_ms=lease_ms, want=want, settlements=settlements
            )
        )

    @property
    def last_number(self) -> int:
        """The number of the last exchange that took a fresh one."""
        return self._number

    def claim(self, want: int = 1, **options: Any) -> tuple[Claimed, ...]:
        return self.exchange(want, **options).claimed

    def claim_one(self, **options: Any) -> Claimed:
        """Claims the first job; fails if there is none."""
        [claimed] = self.claim(1, **options)
        return claimed

    def settle(self, claimed: Claimed, outcome: Outcome, **details: Any) -> Answer:
        """Settles one attempt in an exchange of its own."""
        return self.exchange(0, [Settlement(claimed.id, claimed.token, outcome, **details)]).settled[0]

    def renew(self, *held: Claimed, lease_ms: int = LEASE_MS) -> tuple[Answer, ...]:
        return self.run(exchanges.renew(self.name, lease_ms=lease_ms, held=[(job.id, job.token) for job in held]))

    def tick(self, **options: Any) -> Ticked:
        return self.run(exchanges.tick(self.name, **options))

    def kill(self, job_id: str, **details: Any) -> None:
        """Claims the first job, which must be this one, and fails it for good."""
        claimed = self.claim_one()
        assert claimed.id == job_id
        self.settle(claimed, Outcome.FAIL, **{"error_kind": "Broken", "permanent": "told_so"} | details)

    # what is there

    def job(self, job_id: str) -> Job:
        return self.run(reads.job(job_id))

    def state(self, job_id: str) -> JobState:
        return self.job(job_id).state

    def ready(self) -> list[str]:
        """The ids of ready jobs in claim order."""
        return self.snapshot().job_ids("ready")

    def count(self, name: str) -> int:
        """A total of the queue, 0 if it was never counted."""
        return int(self.raw.hget(self.key("counts"), name) or 0)

    def key(self, name: str) -> str:
        return queue_key(self.name, name)

    def record_key(self, job_id: str, part: str = "") -> str:
        return self.key(f"job:{job_id}{part}")

    def field(self, job_id: str, name: str) -> str | None:
        value = self.raw.hget(self.record_key(job_id), name)
        return None if value is None else str(value.decode())

    def now_ms(self) -> int:
        seconds, micros = self.raw.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def snapshot(self) -> Snapshot:
        return snapshot(self.raw, self.name)

    def audit(self) -> Snapshot:
        return audit(self.raw, self.name, foreign=self.foreign)

    def take_wake_token(self) -> bool:
        """Whether a worker was woken; takes the token as that worker would."""
        return self.raw.lpop(self.key("wake")) is not None

    @contextmanager
    def unchanged(self, *, but_leases: bool = False, **counted: int) -> Iterator[None]:
        """Fails if anything but these totals changes meanwhile (`fenced=1`: by exactly one), leases apart if asked."""
        before = self.snapshot()
        yield
        after = self.snapshot()
        if but_leases:
            assert before.sets["running"].keys() == after.sets["running"].keys()
            after = replace(after, sets={**after.sets, "running": before.sets["running"]})
        changed = differences(before, after)
        assert not changed, "\n".join(changed)
        expected = dict(before.counts)
        for name, amount in counted.items():
            expected[name] = expected.get(name, 0) + amount
        assert dict(after.counts) == expected

    # what time and mishap do

    @contextmanager
    def planted(self, name: str, value: bytes) -> Iterator[None]:
        """Lets a string stand in the place of one of the queue's keys meanwhile."""
        key = self.key(name)
        ours = self.raw.dump(key)
        self.raw.set(key, value)
        try:
            yield
        finally:
            self.raw.delete(key)
            if ours is not None:
                self.raw.restore(key, 0, ours)

    def expire(self, *job_ids: str) -> None:
        """Lets leases end a second ago."""
        self._move("running", job_ids, self.now_ms() - 1000)

    def make_due(self, *job_ids: str, at_ms: int | None = None) -> None:
        """Lets scheduled or retrying jobs be due now, or since `at_ms`."""
        for state in ("scheduled", "retrying"):
            self._move(state, job_ids, self.now_ms() if at_ms is None else at_ms)

    def age(self, state: str, job_ids: Sequence[str], by_ms: int) -> None:
        """Lets jobs of a state have ended that long ago."""
        self._move(state, job_ids, self.now_ms() - by_ms)

    def sweep_stopped(self, *, ago_ms: int) -> None:
        """Lets the last tick be that long ago."""
        self.raw.hset(self.key("meta"), "swept_at", self.now_ms() - ago_ms)

    def _move(self, state: str, job_ids: Sequence[str], score: int) -> None:
        for job_id in job_ids:
            self.raw.zadd(self.key(state), {job_id: score}, xx=True)


def replies_lost(plan: Plan[T]) -> Plan[T]:
    """A plan each of whose calls is carried out twice and hears only the second answer."""
    step = next(plan)
    while True:
        yield step
        answer = yield step
        try:
            step = plan.send(answer)
        except StopIteration as ended:
            return cast(T, ended.value)


def trim_call(
    queue: str,
    *,
    limit: int = limits.CHUNK,
    age_ms: int = limits.KEEP_ENDED_MS,
    keep: int = limits.KEEP_ENDED,
    dead_age_ms: int = limits.KEEP_DEAD_MS,
    dead_keep: int = limits.KEEP_DEAD,
) -> Call[tuple[int, bool]]:
    """Trim on its own, as tick runs it, with bounds a test can reach: how many went, and whether more may."""
    keys = queue_keys(queue, "meta", "counts", "completed", "cancelled", "dead", "groups")
    args = (
        ("limit", limit),
        ("age_ms", age_ms),
        ("keep", keep),
        ("dead_age_ms", dead_age_ms),
        ("dead_keep", dead_keep),
    )
    return Call(ENGINE.load("trim"), keys, args, lambda raw: (raw[0], bool(raw[1])))
