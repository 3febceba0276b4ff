"""Signs of trouble that no snapshot shows: what died lately, leases that were lost, jobs nobody has a handler for."""

from datetime import timedelta

from leaseforge import reads, statistics
from leaseforge.jobs import JobState
from leaseforge.statistics import Step
from leaseforge.store import Store
from leaseforge_console.views.signs import LATELY_S, MOST_QUEUES, Growth, Signs, Unhandled, unhandled
from leaseforge_console.views.snapshot import Snapshot

_HEAD = 25
"""Jobs looked at of each queue: those that come next."""


async def read_signs(store: Store, snapshot: Snapshot) -> Signs:
    """Looks at a bounded number of queues: those with most dead jobs, and those with most ready ones."""
    lately = await store.run(statistics.throughput(seconds=LATELY_S, step=Step.TEN_SECONDS))
    died, recovered, fenced = (
        sum(getattr(point, name) for point in lately.points) for name in ("dead", "recovered", "fenced")
    )
    return Signs(
        died=died,
        recovered=recovered,
        fenced=fenced,
        growth=await _growth(store, snapshot) if died else None,
        unhandled=await _unhandled(store, snapshot),
    )


async def _growth(store: Store, snapshot: Snapshot) -> Growth | None:
    """The type of which most died lately, and of what."""
    having = sorted(
        (queue for queue in snapshot.queues if queue.counts.get(JobState.DEAD, 0)),
        key=lambda queue: -queue.counts[JobState.DEAD],
    )
    found = [
        (shape.dead, queue.name, shape.type)
        for queue in having[:MOST_QUEUES]
        for shape in await store.run(statistics.shapes(queue.name, seconds=LATELY_S))
        if shape.dead
    ]
    if not found:
        return None
    died, queue, job_type = max(found)
    since = snapshot.now - timedelta(seconds=LATELY_S)
    groups = await store.run(reads.groups(queue))
    kinds = {group.kind for group in groups.items if group.type == job_type and group.last_at >= since}
    return Growth(queue, job_type, died, kinds.pop() if len(kinds) == 1 else "")


async def _unhandled(store: Store, snapshot: Snapshot) -> tuple[Unhandled, ...]:
    waiting = sorted(
        (queue for queue in snapshot.queues if not queue.paused and snapshot.workers_of(queue.name)),
        key=lambda queue: -(queue.counts.get(JobState.READY, 0) + queue.counts.get(JobState.RETRYING, 0)),
    )
    found: list[Unhandled] = []
    for queue in waiting[:MOST_QUEUES]:
        jobs = [
            job
            for state in (JobState.READY, JobState.RETRYING)
            if queue.counts.get(state, 0)
            for job in (await store.run(reads.jobs(queue.name, state, limit=_HEAD))).items
        ]
        found += unhandled(queue.name, jobs, snapshot.workers_of(queue.name))
    return tuple(found)
