"""Jobs that leave as a file: everything a filter finds, in stretches of a bounded price."""

from collections.abc import AsyncIterator, Sequence

from leaseforge import limits
from leaseforge.calls import Batch, Plan
from leaseforge.filters import Filter
from leaseforge.jobs import Job
from leaseforge.reads import job_call
from leaseforge.searching import search
from leaseforge.store import Store

_WHOLE_AT_ONCE = 8
"""Jobs read with their payloads together: each may have a megabyte."""


async def stretches(store: Store, asked: Filter, *, whole: bool, most: int) -> AsyncIterator[Sequence[Job]]:
    """All jobs that match, up to `most` and one more if there are more; with payload and result if `whole`.

    Nothing is read before it is asked for, and never more than a hundred jobs, or eight whole ones, are held. Jobs that
    change meanwhile may come twice or not at all, as in a search; whole ones that are gone meanwhile do not come.
    """
    place: str | None = None
    left = most + 1
    while left > 0:
        found = await store.run(search(asked, place=place, limit=min(limits.MAX_PAGE, left)))
        if whole:
            for start in range(0, len(found.items), _WHOLE_AT_ONCE):
                yield await store.run(_whole(found.items[start : start + _WHOLE_AT_ONCE]))
        elif found.items:
            yield found.items
        left -= len(found.items)
        place = found.next
        if place is None:
            return


def _whole(jobs: Sequence[Job]) -> Plan[list[Job]]:
    read = yield from Batch([job_call(job.queue, job.id) for job in jobs])
    return [job for job in read if job is not None]
