"""Any list of jobs as a file: everything its filter finds, sent while it is read."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog
from litestar import get
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery
from litestar.response import Stream

from leaseforge import events, reads
from leaseforge.filters import Filter, checked
from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import NotPermitted
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_auth.sessions import Sessions
from leaseforge_console.console import Console, ConsoleRequest, identity_of
from leaseforge_console.exporting import MEDIA_TYPES, Format, lines
from leaseforge_console.pages.asked import asked_jobs
from leaseforge_console.room import Place
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.views.list_tools import wanted

log = structlog.get_logger()

ASKED: dict[str, Any] = {"asked": Provide(asked_jobs)}


@get(
    ["/export/jobs.csv", "/export/jobs.jsonl"],
    dependencies=ASKED,
    **permission(Permission.JOBS_READ, audit="jobs.export"),
)
async def export_jobs(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    sessions: NamedDependency[Sessions],
    asked: NamedDependency[Asked],
    payloads: FromQuery[bool] = False,
) -> Stream:
    """All jobs that match."""
    content = _Content(console, store, sessions, JobList.JOBS, asked, payloads)
    return await _file(request, content)


@get(
    ["/export/delayed.csv", "/export/delayed.jsonl"],
    dependencies=ASKED,
    **permission(Permission.DELAYED_READ, audit="delayed.export"),
)
async def export_delayed(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    sessions: NamedDependency[Sessions],
    asked: NamedDependency[Asked],
    payloads: FromQuery[bool] = False,
) -> Stream:
    """The delayed jobs that match, next due first."""
    content = _Content(console, store, sessions, JobList.DELAYED, asked, payloads)
    return await _file(request, content)


@get(
    ["/export/dead.csv", "/export/dead.jsonl"],
    dependencies=ASKED,
    **permission(Permission.DLQ_READ, audit="dlq.export"),
)
async def export_dead(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    sessions: NamedDependency[Sessions],
    asked: NamedDependency[Asked],
    payloads: FromQuery[bool] = False,
) -> Stream:
    """The dead jobs that match, newest first."""
    content = _Content(console, store, sessions, JobList.DEAD, asked, payloads)
    return await _file(request, content)


@dataclass(frozen=True, slots=True)
class _Content:
    """What is asked for, and what it is made with. `whole` is with payloads."""

    console: Console
    store: Store
    sessions: Sessions
    list: JobList
    asked: Asked
    whole: bool


async def _file(request: ConsoleRequest, content: _Content) -> Stream:
    """Whatever is wrong is found before the first byte leaves: later it could only be told by a broken file."""
    user, list_, asked, whole = identity_of(request), content.list, content.asked, content.whole
    if whole and not user.can(Permission.PAYLOADS_READ):
        raise NotPermitted(Permission.PAYLOADS_READ)
    now = datetime.now(UTC)
    jobs = checked(wanted(list_, asked.at(""), now))
    if asked.queue:
        await content.store.run(reads.queue(asked.queue))
    place = content.console.exports.take(user.username)
    form = Format(request.scope["path"].rpartition(".")[2])
    filter_ = asked.at("").query().removeprefix("?")
    action_of(request).note(filter=filter_, format=form.value, payloads=whole)
    log.info(events.JOBS_EXPORTED, list=list_.value, format=form.value, whole=whole, user=user.username)
    name = f"{list_.value}-{now:%Y%m%d-%H%M%S}.{form.value}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    pieces = _pieces(request, content, jobs, form, place)
    return Stream(pieces, media_type=MEDIA_TYPES[form], headers=headers)


async def _pieces(
    request: ConsoleRequest, content: _Content, jobs: Filter, form: Format, place: Place
) -> AsyncIterator[bytes]:
    session: str = request.auth

    async def has_ended() -> bool:
        return session in await content.sessions.ended([session])

    with place:
        async for piece in lines(content.store, jobs, form=form, whole=content.whole, has_ended=has_ended):
            yield piece
