"""Any list of jobs as a file: everything its filter finds, sent while it is read."""

from datetime import UTC, datetime
from typing import Any

import structlog
from litestar import get
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery
from litestar.response import Stream

from leaseforge import events, reads
from leaseforge.filters import checked
from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import NotPermitted
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import ConsoleRequest, identity_of
from leaseforge_console.exporting import MEDIA_TYPES, Format, lines
from leaseforge_console.pages.asked import asked_jobs
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
    store: NamedDependency[Store],
    asked: NamedDependency[Asked],
    payloads: FromQuery[bool] = False,
) -> Stream:
    """All jobs that match."""
    return await _file(request, store, JobList.JOBS, asked, whole=payloads)


@get(
    ["/export/delayed.csv", "/export/delayed.jsonl"],
    dependencies=ASKED,
    **permission(Permission.DELAYED_READ, audit="delayed.export"),
)
async def export_delayed(
    request: ConsoleRequest,
    store: NamedDependency[Store],
    asked: NamedDependency[Asked],
    payloads: FromQuery[bool] = False,
) -> Stream:
    """The delayed jobs that match, next due first."""
    return await _file(request, store, JobList.DELAYED, asked, whole=payloads)


@get(
    ["/export/dead.csv", "/export/dead.jsonl"],
    dependencies=ASKED,
    **permission(Permission.DLQ_READ, audit="dlq.export"),
)
async def export_dead(
    request: ConsoleRequest,
    store: NamedDependency[Store],
    asked: NamedDependency[Asked],
    payloads: FromQuery[bool] = False,
) -> Stream:
    """The dead jobs that match, newest first."""
    return await _file(request, store, JobList.DEAD, asked, whole=payloads)


async def _file(request: ConsoleRequest, store: Store, list_: JobList, asked: Asked, *, whole: bool) -> Stream:
    """Whatever is wrong is found before the first byte leaves: later it could only be told by a broken file."""
    if whole and not identity_of(request).can(Permission.PAYLOADS_READ):
        raise NotPermitted(Permission.PAYLOADS_READ)
    now = datetime.now(UTC)
    jobs = checked(wanted(list_, asked.at(""), now))
    if asked.queue:
        await store.run(reads.queue(asked.queue))
    form = Format(request.scope["path"].rpartition(".")[2])
    filter_ = asked.at("").query().removeprefix("?")
    action_of(request).note(filter=filter_, format=form.value, payloads=whole)
    log.info(
        events.JOBS_EXPORTED, list=list_.value, format=form.value, payloads=whole, user=identity_of(request).username
    )
    name = f"{list_.value}-{now:%Y%m%d-%H%M%S}.{form.value}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Stream(lines(store, jobs, form=form, whole=whole), media_type=MEDIA_TYPES[form], headers=headers)
