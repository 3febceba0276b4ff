"""Dead letters: groups first, then the jobs of one; retry and delete of one, and purge."""

from dataclasses import replace
from typing import Annotated, Any

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency, Provide
from litestar.enums import RequestEncodingType
from litestar.params import Body, FromPath, FromQuery

from leaseforge import events, limits, operations, reads
from leaseforge.answers import Answer
from leaseforge.errors import QueueNotFound
from leaseforge.jobs import DeadGroup, JobState
from leaseforge.reads import Page
from leaseforge.searching import Found, search
from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import CrossSiteRequest
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.filters import plural
from leaseforge_console.live import Live, Topic, read_snapshot
from leaseforge_console.pages.asked import asked_jobs
from leaseforge_console.pages.moved_on import carried_out
from leaseforge_console.pages.saved_views import list_tools
from leaseforge_console.stream import Watched
from leaseforge_console.views import dead as view
from leaseforge_console.views import job as job_view
from leaseforge_console.views import listing
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.list_tools import wanted
from leaseforge_console.views.snapshot import Snapshot

log = structlog.get_logger()

ASKED = {"asked": Provide(asked_jobs)}


async def load_groups(store: Store, snapshot: Snapshot, queue: str, offset: int) -> Page[DeadGroup]:
    """One page of the groups, the largest first."""
    if queue and all(info.name != queue for info in snapshot.queues):
        raise QueueNotFound(queue)
    return await store.run(reads.groups(queue or None, offset=offset, limit=view.PAGE_SIZE))


async def load_jobs(store: Store, snapshot: Snapshot, asked: Asked) -> tuple[Found, DeadGroup | None]:
    """One page of the jobs, newest first, and the group they are of."""
    dead = wanted(JobList.DEAD, asked, snapshot.now)
    found = await store.run(search(dead, place=asked.place or None, limit=listing.PAGE_SIZE, infos=snapshot.queues))
    return found, await store.run(reads.group(asked.queue, asked.group)) if asked.group else None


def watched_groups(asked: Asked, offset: int) -> Watched:
    """The live side of the groups."""

    def build(snapshot: Snapshot, found: Any) -> view.Groups:
        return view.groups(found, asked, snapshot)

    offset = _bounded(offset)
    return Watched(
        Topic(load_groups, (asked.queue, offset)), "live/dead_groups.html", _groups_place(asked, offset), build
    )


def watched_jobs(asked: Asked) -> Watched:
    """The live side of the jobs."""

    def build(snapshot: Snapshot, data: Any) -> view.Jobs:
        found, group = data
        return view.jobs(found, group, asked, snapshot)

    return Watched(Topic(load_jobs, (asked.standing(),)), "live/dead_jobs.html", _jobs_place(asked), build)


@get("/dead", dependencies=ASKED, **permission(Permission.DLQ_READ))
async def show_groups(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    asked: NamedDependency[Asked],
    offset: FromQuery[int] = 0,
) -> Response[str]:
    """Dead jobs by kind of error."""
    offset = _bounded(offset)
    snapshot = await read_snapshot(store)
    built = view.groups(await load_groups(store, snapshot, asked.queue, offset), asked, snapshot)
    page = replace(built, tools=await list_tools(request, store, JobList.DEAD, Asked(queue=asked.queue)))
    return console.page(request, "pages/dead/groups.html", page, _groups_place(asked, offset), snapshot=snapshot)


@get("/dead/jobs", dependencies=ASKED, **permission(Permission.DLQ_READ))
async def show_jobs(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    asked: NamedDependency[Asked],
) -> Response[str]:
    """Dead jobs one by one: of a group, or of any kind."""
    snapshot = await read_snapshot(store)
    found, group = await load_jobs(store, snapshot, asked)
    built = view.jobs(found, group, asked, snapshot)
    page = replace(built, tools=await list_tools(request, store, JobList.DEAD, asked))
    return console.page(request, "pages/dead/jobs.html", page, _jobs_place(asked), snapshot=snapshot)


@post("/dead/{job_id:str}/retry", **permission(Permission.DLQ_WRITE, audit="dlq.retry"))
async def retry_dead(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
    data: Annotated[job_view.ActionSent, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Dead -> ready, with fresh budgets; sent twice it is done once. The list stays on screen."""
    answer = await carried_out(store, job_id, operations.retry(job_id, operation=data.operation), undone="put back")
    log.info(events.JOB_REPLAYED, job_id=job_id, user=identity_of(request).username)
    live.nudge()
    done_before = answer is Answer.ALREADY_DONE
    told = f"Job {job_id[:8]} was put back already." if done_before else f"Put back job {job_id[:8]}: it is ready."
    return console.go(request, console.page_on_screen(request), Flash("good", told))


@get("/dead/{job_id:str}/delete", **permission(Permission.DLQ_WRITE))
async def confirm_delete_dead(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], job_id: FromPath[str]
) -> Response[str]:
    """Shows what would be deleted."""
    snapshot = await read_snapshot(store)
    page = job_view.build(await store.run(reads.job(job_id)), snapshot.now, may_read_payload=False)
    place = Place(f"Delete job {job_id[:8]}", "dead")
    return console.page(request, "pages/dead/delete.html", page, place, snapshot=snapshot)


@post("/dead/{job_id:str}/delete", **permission(Permission.DLQ_WRITE, audit="dlq.delete"))
async def delete_dead(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
) -> Response[Any]:
    """Removes the dead job with its history; one that is not dead any more is refused."""
    job = await store.run(reads.job(job_id))
    await carried_out(store, job_id, operations.delete(job_id, only=(JobState.DEAD,)), undone="deleted")
    log.info(events.JOB_DELETED, job_id=job_id, user=identity_of(request).username)
    live.nudge()
    back = console.after_confirmation(request, "/console/dead/jobs" + Asked(queue=job.queue).query())
    return console.go(request, back, Flash("good", f"Deleted job {job_id} ({job.type})."))


@get("/dead/purge", dependencies=ASKED, **permission(Permission.DLQ_WRITE))
async def confirm_purge_dead(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    asked: NamedDependency[Asked],
) -> Response[str]:
    """Shows what a purge would remove, frozen at this moment."""
    infos = [await store.run(reads.queue(asked.queue))] if asked.queue else await store.run(reads.queues())
    return await _ask(request, console, store, view.purge_form(asked.queue, infos, identity_of(request).csrf_token))


@post("/dead/purge", **permission(Permission.DLQ_WRITE, audit="dlq.purge"))
async def purge_dead(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    data: Annotated[view.PurgeSent, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Removes the jobs that were dead when they were shown, nothing that died later."""
    frozen, key = data.frozen(), identity_of(request).csrf_token
    if not view.is_as_shown(frozen, data, key):
        raise CrossSiteRequest("the confirmation is not one this session was shown")
    if again := view.problem_of(frozen, data, key):
        return await _ask(request, console, store, again)
    names = [frozen.queue] if frozen.queue else await store.run(reads.queue_names())
    removed = 0
    for name in names:
        removed += (await store.run(operations.purge_dead(name, before_ms=frozen.before_ms))).removed
        action_of(request).note(queue=frozen.queue or None, removed=removed)
    log.info(events.DEAD_PURGED, queue=frozen.queue or None, removed=removed, user=identity_of(request).username)
    live.nudge()
    told = f"Purged {plural(removed, 'dead job')}. Jobs that died later were not touched."
    back = console.after_confirmation(request, "/console/dead" + Asked(queue=frozen.queue).query())
    return console.go(request, back, Flash("good", told))


async def _ask(request: ConsoleRequest, console: Console, store: Store, form: view.PurgeForm) -> Response[str]:
    """The confirmation; asked again in its place when something was wrong with it."""
    response = console.page(
        request,
        "pages/dead/purge.html",
        form,
        Place("Purge dead letters", "dead"),
        snapshot=await read_snapshot(store),
        status=422 if form.problem else 200,
    )
    if form.problem:
        response.headers.update({"HX-Retarget": "#confirm", "HX-Reselect": "#confirm", "HX-Reswap": "outerMorph"})
    return response


def _groups_place(asked: Asked, offset: int) -> Place:
    query = Asked(queue=asked.queue).query()
    return Place("Dead letters", "dead", f"/live/dead{query}{'&' if query else '?'}offset={offset}")


def _jobs_place(asked: Asked) -> Place:
    """A search reads thousands of jobs: it is made when it is asked for, not every two seconds."""
    return Place("Dead jobs", "dead", None if asked.looks else f"/live/dead/jobs{asked.query()}")


def _bounded(offset: int) -> int:
    return min(max(offset, 0), limits.MAX_OFFSET)
