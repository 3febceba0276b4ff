"""Any list of jobs as a file: everything its filter finds, sent while it is read."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromQuery
from litestar.response import Stream

from leaseforge import events, reads
from leaseforge.filters import Filter, checked
from leaseforge_auth.errors import NotPermitted
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_auth.sessions import Sessions
from leaseforge_console.exporting import MEDIA_TYPES, Format, lines
from leaseforge_console.room import Seat
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.views.list_tools import wanted
from leaseforge_console.visit import Visit

log = structlog.get_logger()


@get(
    ["/export/jobs.csv", "/export/jobs.jsonl"],
    **permission(Permission.JOBS_READ, audit="jobs.export"),
)
async def export_jobs(
    visit: NamedDependency[Visit],
    sessions: NamedDependency[Sessions],
    asked: NamedDependency[Asked],
    payloads: FromQuery[bool] = False,
) -> Stream:
    """All jobs that match."""
    return await _file(_Content(visit, sessions, JobList.JOBS, asked, payloads))


@get(
    ["/export/delayed.csv", "/export/delayed.jsonl"],
    **permission(Permission.DELAYED_READ, audit="delayed.export"),
)
async def export_delayed(
    visit: NamedDependency[Visit],
    sessions: NamedDependency[Sessions],
    asked: NamedDependency[Asked],
    payloads: FromQuery[bool] = False,
) -> Stream:
    """The delayed jobs that match, next due first."""
    return await _file(_Content(visit, sessions, JobList.DELAYED, asked, payloads))


@get(
    ["/export/dead.csv", "/export/dead.jsonl"],
    **permission(Permission.DLQ_READ, audit="dlq.export"),
)
async def export_dead(
    visit: NamedDependency[Visit],
    sessions: NamedDependency[Sessions],
    asked: NamedDependency[Asked],
    payloads: FromQuery[bool] = False,
) -> Stream:
    """The dead jobs that match, newest first."""
    return await _file(_Content(visit, sessions, JobList.DEAD, asked, payloads))


@dataclass(frozen=True, slots=True)
class _Content:
    """What is asked for, and what it is made with. `whole` is with payloads."""

    visit: Visit
    sessions: Sessions
    list: JobList
    asked: Asked
    whole: bool


async def _file(content: _Content) -> Stream:
    """Whatever is wrong is found before the first byte leaves: later it could only be told by a broken file."""
    visit, list_, asked, whole = content.visit, content.list, content.asked, content.whole
    if whole and not visit.identity.can(Permission.PAYLOADS_READ):
        raise NotPermitted(Permission.PAYLOADS_READ)
    now = datetime.now(UTC)
    jobs = checked(wanted(list_, asked.at(""), now))
    if asked.queue:
        await visit.store.run(reads.queue(asked.queue))
    seat = visit.console.exports.take(visit.user)
    form = Format(visit.request.scope["path"].rpartition(".")[2])
    filter_ = asked.at("").query().removeprefix("?")
    visit.note(filter=filter_, format=form.value, payloads=whole)
    log.info(events.JOBS_EXPORTED, list=list_.value, format=form.value, whole=whole, user=visit.user)
    name = f"{list_.value}-{now:%Y%m%d-%H%M%S}.{form.value}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    pieces = _pieces(content, jobs, form, seat)
    return Stream(pieces, media_type=MEDIA_TYPES[form], headers=headers)


async def _pieces(content: _Content, jobs: Filter, form: Format, seat: Seat) -> AsyncIterator[bytes]:
    session: str = content.visit.request.auth

    async def has_ended() -> bool:
        return session in await content.sessions.ended([session])

    with seat:
        async for piece in lines(content.visit.store, jobs, form=form, whole=content.whole, has_ended=has_ended):
            yield piece
