"""One plan through every transition of a queue, and what each call answered: the same on every kind of server.

It needs no raw client: leases of a millisecond end by themselves, and a sweep is repeated until it found them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from typing import Any

import msgspec

from leaseforge import attempts, exchanges, operations, outbox, reads, statistics
from leaseforge.calls import Plan
from leaseforge.claimed import Claimed
from leaseforge.errors import LeaseforgeError, StoreError
from leaseforge.exchanges import Exchanged, Outcome, Settlement
from leaseforge.filters import Filter
from leaseforge.jobs import JobState, NewJob
from leaseforge.queues import QueueInfo
from leaseforge.reads import Page
from leaseforge.requests import new_job
from leaseforge.searching import search
from leaseforge.workers import WorkerReport, WorkerState

Transcript = list[tuple[str, Any]]
SWEEPS = 2000
"""Calls a sweep may take until a lease of a millisecond has ended."""


def core_flow(queue: str) -> Plan[Transcript]:
    """Enqueues, claims, settles in every way, recovers, acts as an operator, reads; answers without times and ids.

    Its follow-ups go to the queue `<queue>.next`, which stands elsewhere in a cluster.
    """
    flow = _Flow(queue)
    yield from flow.produce()
    yield from flow.work()
    yield from flow.lose_leases()
    yield from flow.operate()
    yield from flow.follow_up()
    yield from flow.look()
    return flow.said


class _Flow:
    """The queue, the next exchange's number, and what was answered so far."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self.number = 0
        self.said: Transcript = []
        self.names: dict[str, str] = {}

    def say(self, what: str, answer: Any) -> Any:
        self.said.append((what, self._plain(answer)))
        return answer

    def job(self, name: str, payload: Any = None, **details: Any) -> NewJob:
        """A new job called `name` here and in the transcript."""
        job = new_job(name, payload, queue=details.pop("queue", self.queue), **details)
        self.names[job.id] = name
        return job

    def add(self, name: str, payload: Any = None, **details: Any) -> Plan[str]:
        job = self.job(name, payload, **details)
        stored = self.say(f"enqueue {name}", (yield from operations.enqueue(job)))
        return str(stored.id)

    def exchange(
        self, want: int, *settlements: Settlement, lease_ms: int = 60_000, again: bool = False
    ) -> Plan[Exchanged]:
        self.number += not again
        call = exchanges.exchange(
            self.queue, run_id="w1", number=self.number, lease_ms=lease_ms, want=want, settlements=settlements
        )
        return self.say("exchange", (yield from call))  # type: ignore[no-any-return]

    def claim(self, want: int = 1, **options: Any) -> Plan[tuple[Claimed, ...]]:
        return (yield from self.exchange(want, **options)).claimed

    def settle(self, claimed: Claimed, outcome: Outcome = Outcome.COMPLETE, **details: Any) -> Plan[Exchanged]:
        return (yield from self.exchange(0, Settlement(claimed.id, claimed.token, outcome, **details)))

    def until(self, job_id: str, state: JobState) -> Plan[None]:
        """Sweeps until the job is where it has to come by time alone."""
        for _ in range(SWEEPS):
            yield from exchanges.tick(self.queue, backoff_base_ms=1, backoff_cap_ms=1)
            if (yield from reads.job(job_id)).state is state:
                return
        raise AssertionError(f"{self.names[job_id]} is not {state} after {SWEEPS} sweeps")

    def refusal(self, what: str, plan: Plan[Any]) -> Plan[None]:
        """An operation that is refused: with which exception."""
        try:
            self.say(what, (yield from plan))
        except StoreError:
            raise
        except LeaseforgeError as error:
            self.say(what, type(error).__name__)

    def produce(self) -> Plan[None]:
        for name, details in (
            ("plain", {}),
            ("high", {"priority": 5, "tags": ("a", "b"), "max_attempts": 2, "created_by": "ada"}),
            ("low", {"priority": -(2**31)}),
            ("later", {"delay_ms": 3_600_000}),
            ("keyed", {"idempotency_key": "k"}),
            ("unique", {"unique_key": "u"}),
        ):
            yield from self.add(name, {"of": name}, **details)
        yield from self.add("keyed", {"of": "keyed"}, idempotency_key="k")
        yield from self.refusal("other body", operations.enqueue(self.job("other", idempotency_key="k")))
        yield from self.add("second", unique_key="u")
        jobs = [self.job(f"bulk-{number}", bytes([number]) * number) for number in range(3)]
        self.say("bulk", (yield from operations.enqueue_many([*jobs, jobs[0]])))

    def work(self) -> Plan[None]:
        high, plain = yield from self.claim(2)
        yield from self.exchange(2, again=True)
        held = [(high.id, high.token), (plain.id, "1.nobody")]
        self.say("renew", (yield from exchanges.renew(self.queue, lease_ms=60_000, held=held)))
        self.say("progress", (yield from attempts.progress(self.queue, plain.id, plain.token, percent=50, note="½")))
        lines = attempts.log(self.queue, plain.id, plain.token, first=1, lines=["one", "zwei ✓"])
        self.say("log", (yield from lines))
        yield from self.settle(plain, result=b"\x00\xff")
        yield from self.settle(plain)
        yield from self.settle(
            high, Outcome.FAIL, error_kind="E", error_message="lost 1", max_attempts=2, job_type="high"
        )
        yield from self.until(high.id, JobState.READY)
        [high] = yield from self.claim()
        yield from self.settle(
            high, Outcome.FAIL, error_kind="E", error_message="lost 2", max_attempts=2, job_type="high"
        )
        [keyed] = yield from self.claim()
        yield from self.settle(keyed, Outcome.RELEASE)
        [keyed] = yield from self.claim()
        self.say("cancel", (yield from operations.cancel(keyed.id, operation="op-1")))
        held = [(keyed.id, keyed.token)]
        self.say("renew", (yield from exchanges.renew(self.queue, lease_ms=60_000, held=held)))
        yield from self.settle(keyed, Outcome.CANCELLED)

    def lose_leases(self) -> Plan[None]:
        cursed = yield from self.add("cursed", priority=9)
        for state in (JobState.READY, JobState.READY, JobState.READY, JobState.DEAD):
            [claimed] = yield from self.claim(lease_ms=1)
            assert claimed.id == cursed
            yield from self.until(cursed, state)
            yield from self.settle(claimed)

    def operate(self) -> Plan[None]:
        dead = (yield from reads.jobs(self.queue, JobState.DEAD)).items
        for job in sorted(dead, key=lambda job: job.type):
            self.say("retry", (yield from operations.retry(job.id, operation="op-2", payload=b"[1]")))
            self.say("retry again", (yield from operations.retry(job.id, operation="op-2")))
            yield from self.refusal("retry of a live one", operations.retry(job.id, operation="op-3"))
        [done] = (yield from reads.jobs(self.queue, JobState.COMPLETED)).items
        self.say("requeue", (yield from operations.requeue(done.id, operation="op-4")))
        [later] = (yield from reads.jobs(self.queue, JobState.SCHEDULED)).items
        self.say("delete", (yield from operations.delete(later.id)))
        yield from self.refusal("delete again", operations.delete(later.id))
        self.say("pause", (yield from operations.pause(self.queue)))
        yield from self.claim()
        self.say("resume", (yield from operations.resume(self.queue)))
        self.say("configure", (yield from operations.configure(self.queue, {"max_running": 1, "rate": 0.5})))
        held = yield from self.claim(5)
        yield from self.refusal("delete a running one", operations.delete(held[0].id))
        self.say("configure", (yield from operations.configure(self.queue, {"max_running": None, "rate": None})))
        yield from self.settle(held[0], Outcome.FAIL, permanent="bad_payload", job_type=held[0].type)
        yield from self.add("stays", priority=-(2**31))
        shown = yield from reads.queue(self.queue)
        self.say(
            "purge", (yield from operations.purge(self.queue, sequence=shown.sequence - 1, as_of_ms=shown.as_of_ms))
        )

    def follow_up(self) -> Plan[None]:
        [parent] = yield from self.claim()
        elsewhere = self.job("elsewhere", {"n": 1}, queue=f"{self.queue}.next")
        yield from self.settle(parent, follow_ups=(self.job("sibling"), elsewhere))
        self.say("forward", (yield from outbox.forward(self.queue)))
        self.say("forward again", (yield from outbox.forward(self.queue)))
        self.say("elsewhere", (yield from reads.job(elsewhere.id)))

    def look(self) -> Plan[None]:
        for state in JobState:
            self.say(state, (yield from reads.jobs(self.queue, state)))
        for job_id in sorted(self.names, key=lambda job_id: self.names[job_id]):
            yield from self.refusal(f"job {self.names[job_id]}", reads.job(job_id))
            lines = yield from reads.log(self.queue, job_id)
            self.say("log", [(line.number, line.text) for line in lines])
        self.say("groups", (yield from reads.groups(self.queue)).items)
        self.say("queue", (yield from reads.queue(self.queue)))
        throughput = yield from statistics.throughput(seconds=600, queue=self.queue)
        totals = {name: sum(getattr(point, name) for point in throughput.points) for name in statistics.SERIES}
        self.say("throughput", totals)
        report = WorkerReport(
            id="w1",
            host="h",
            pid=1,
            version="1",
            queues=(self.queue,),
            types=("a",),
            slots=2,
            state=WorkerState.RUNNING,
            rss_bytes=1,
            started_ms=1,
            longest_renewal_gap_ms=0,
            running_count=0,
            running=(),
            ttl_ms=60_000,
        )
        self.say("register", (yield from exchanges.register_worker(report)))
        self.say("command", (yield from operations.command_worker("w1", "quiet")))
        told = yield from exchanges.register_worker(report)
        self.say("register", told)
        self.say("confirm", (yield from exchanges.register_worker(report, heard=told.command_id)))
        self.say("workers", [worker.id for worker in (yield from reads.workers()).items])
        self.say("worker", (yield from reads.worker("w1")).id)
        self.say("deregister", (yield from exchanges.deregister_worker("w1", [self.queue])))
        dead = Filter(states=(JobState.DEAD,), error="BAD_")
        for asked in (Filter(), Filter(type="stays"), dead):
            found = yield from search(replace(asked, queue=self.queue), limit=100)
            self.say("search", (sorted(job.type for job in found.items), found.total, found.searched, found.next))
        later = yield from self.add("later", delay_ms=60_000)
        self.say("promote", (yield from operations.promote(later, operation="op-5")))
        self.say("promote again", (yield from operations.promote(later, operation="op-5")))
        yield from self.refusal("promote a ready one", operations.promote(later, operation="op-6"))
        self.say("purge the dead", (yield from operations.purge_dead(self.queue, before_ms=2**50)))

    def _plain(self, value: Any) -> Any:
        """An answer without what differs from run to run: ids become names, times and tokens go."""
        if isinstance(value, QueueInfo):
            value = replace(value, oldest_ready_s=None, as_of_ms=0)
        if isinstance(value, msgspec.Struct) or (is_dataclass(value) and not isinstance(value, type)):
            named = value.__struct_fields__ if isinstance(value, msgspec.Struct) else [f.name for f in fields(value)]
            shown = [name for name in named if name not in _VARYING]
            return type(value).__name__, {name: self._plain(getattr(value, name)) for name in shown}
        if isinstance(value, str):
            return str(value).replace(self.queue, "<queue>") if value not in self.names else self.names[value]
        if isinstance(value, Page):
            # Jobs that ended in one millisecond stand in the order of their ids.
            value = sorted(value.items, key=lambda job: job.type)
        if isinstance(value, Mapping):
            return {self._plain(str(name)): self._plain(part) for name, part in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, bytes):
            return [self._plain(part) for part in value]
        return "<time>" if isinstance(value, datetime) else value


_VARYING = frozenset(
    {
        "token",
        "fence",
        "lease",
        "created_at_ms",
        "ready_at_ms",
        "next_due_ms",
        "wait_ms",
        "key",
        "group",
        "started_ms",
        "command_id",
    }
)
