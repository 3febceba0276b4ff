"""What a worker holds: the jobs of its last report, compared with what the queues say of them now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from leaseforge.calls import Batch, Call, Plan, queue_keys
from leaseforge.jobs import Progress
from leaseforge.queues import queue_name_problem
from leaseforge.records import fence_of, instant, progress_of, whole
from leaseforge.requests import is_job_id
from leaseforge.scripts import ENGINE
from leaseforge.workers import ReportedJob, WorkerInfo


@dataclass(frozen=True, slots=True)
class Lease:
    """How a running job stands in its queue. `left` is negative once the lease is over and until it is taken back."""

    fence: int
    expires_at: datetime
    left: timedelta
    attempts: int
    progress: Progress | None
    cancel_requested: bool


@dataclass(frozen=True, slots=True)
class Held:
    """A job of a worker's report. `lease` is None if the worker has it no more: it ended, or another one has it."""

    job: ReportedJob
    lease: Lease | None


def held(info: WorkerInfo) -> Plan[tuple[Held, ...]]:
    """The jobs that the worker's last report names, at most 100, in the report's order."""
    by_queue: dict[str, list[str]] = {}
    for job in info.running:
        # A report is a worker's word: what cannot be asked for is shown as not held.
        if queue_name_problem(job.queue) is None and is_job_id(job.id):
            by_queue.setdefault(job.queue, []).append(job.id)
    answers = yield from Batch([held_call(queue, ids) for queue, ids in by_queue.items()])
    found = {
        (queue, job_id): lease
        for (queue, ids), leases in zip(by_queue.items(), answers, strict=True)
        for job_id, lease in zip(ids, leases, strict=True)
        if lease is not None
    }
    return tuple(Held(job, _same(job, found.get((job.queue, job.id)))) for job in info.running)


def held_call(queue: str, ids: Sequence[str]) -> Call[list[Lease | None]]:
    """How these jobs of a queue run; None for each that does not."""

    def read(raw: Sequence[Any]) -> list[Lease | None]:
        now = instant(raw[0])
        return [_lease(now, row) if row and now else None for row in raw[1]]

    return Call(ENGINE.load("read_held"), queue_keys(queue, "running"), (), read, ids)


def _lease(now: datetime, row: Sequence[bytes | None]) -> Lease | None:
    token, expiry, attempts, progress, cancel = ((word or b"").decode("utf-8", "replace") for word in row)
    expires_at = instant(expiry)
    if expires_at is None or not token:
        return None
    return Lease(
        fence=fence_of(token),
        expires_at=expires_at,
        left=expires_at - now,
        attempts=whole(attempts),
        progress=progress_of(progress),
        cancel_requested=cancel == "1",
    )


def _same(job: ReportedJob, lease: Lease | None) -> Lease | None:
    return lease if lease is not None and lease.fence == job.fence else None
