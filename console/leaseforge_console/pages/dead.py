"""Dead letters: groups first, then the jobs of one; retry and delete of one, and purge."""

from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from leaseforge import events, limits, operations, reads
from leaseforge.errors import QueueNotFound
from leaseforge.jobs import DeadGroup, JobState
from leaseforge.reads import Page
from leaseforge.searching import Found
from leaseforge.store import Store
from leaseforge_auth.errors import CrossSiteRequest
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.filters import plural
from leaseforge_console.forms import FromForm
from leaseforge_console.live import Topic
from leaseforge_console.moved_on import carried_out
from leaseforge_console.pages.job_list import found_jobs, list_tools, live_path
from leaseforge_console.stream import Watched
from leaseforge_console.views import dead as view
from leaseforge_console.views import job as job_view
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.views.list_tools import ListTools
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit


async def load_groups(store: Store, snapshot: Snapshot, queue: str, offset: int) -> Page[DeadGroup]:
    """One page of the groups, the largest first."""
    if queue and all(info.name != queue for info in snapshot.queues):
        raise QueueNotFound(queue)
    return await store.run(reads.groups(queue or None, offset=offset, limit=view.PAGE_SIZE))


async def load_jobs(store: Store, snapshot: Snapshot, asked: Asked) -> tuple[Found, DeadGroup | None]:
    """One page of the jobs, newest first, and the group they are of."""
    found = await found_jobs(store, snapshot, JobList.DEAD, asked)
    return found, await store.run(reads.group(asked.queue, asked.group)) if asked.group else None


def watched_groups(asked: Asked, offset: int, tools: ListTools | None = None) -> Watched:
    """The live side of the groups, and their page with the tools above them."""

    def build(snapshot: Snapshot, found: Any) -> view.Groups:
        return view.groups(found, asked, snapshot, tools)

    offset = min(max(offset, 0), limits.MAX_OFFSET)
    query = Asked(queue=asked.queue).query()
    place = Place("Dead letters", "dead", f"/live/dead{query}{'&' if query else '?'}offset={offset}")
    return Watched(Topic(load_groups, (asked.queue, offset)), "live/dead_groups.html", place, build)


def watched_jobs(asked: Asked, tools: ListTools | None = None) -> Watched:
    """The live side of the jobs, and their page with the tools above the list."""

    def build(snapshot: Snapshot, data: Any) -> view.Jobs:
        found, group = data
        return view.jobs(found, group, asked, snapshot, tools)

    place = Place("Dead jobs", "dead", live_path("/dead/jobs", asked))
    return Watched(Topic(load_jobs, (asked,)), "live/dead_jobs.html", place, build)


@get("/dead", **permission(Permission.DLQ_READ))
async def show_groups(
    visit: NamedDependency[Visit], asked: NamedDependency[Asked], offset: FromQuery[int] = 0
) -> Response[str]:
    """Dead jobs by kind of error."""
    tools = await list_tools(visit, JobList.DEAD, Asked(queue=asked.queue))
    return await visit.show("pages/dead/groups.html", watched_groups(asked, offset, tools))


@get("/dead/jobs", **permission(Permission.DLQ_READ))
async def show_jobs(visit: NamedDependency[Visit], asked: NamedDependency[Asked]) -> Response[str]:
    """Dead jobs one by one: of a group, or of any kind."""
    tools = await list_tools(visit, JobList.DEAD, asked)
    return await visit.show("pages/dead/jobs.html", watched_jobs(asked, tools))


@post("/dead/{job_id:str}/retry", **permission(Permission.DLQ_WRITE, audit="dlq.retry"))
async def retry_dead(
    visit: NamedDependency[Visit], job_id: FromPath[str], data: FromForm[job_view.ActionSent]
) -> Response[Any]:
    """Dead -> ready, with fresh budgets; sent twice it is done once. The list stays on screen."""
    action = operations.retry(job_id, operation=data.operation)
    is_new = await carried_out(visit, job_id, action, events.JOB_REPLAYED, undone="put back")
    told = f"Put back job {job_id[:8]}: it is ready." if is_new else f"Job {job_id[:8]} was put back already."
    return visit.go(visit.page_on_screen(), told)


@get("/dead/{job_id:str}/delete", **permission(Permission.DLQ_WRITE))
async def confirm_delete_dead(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[str]:
    """Shows what would be deleted."""
    snapshot = await visit.snapshot()
    page = job_view.build(await visit.store.run(reads.job(job_id)), snapshot.now, may_read_payload=False)
    place = Place(f"Delete job {job_id[:8]}", "dead")
    return visit.page("pages/dead/delete.html", page, place, snapshot)


@post("/dead/{job_id:str}/delete", **permission(Permission.DLQ_WRITE, audit="dlq.delete"))
async def delete_dead(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[Any]:
    """Removes the dead job with its history; one that is not dead any more is refused."""
    job = await visit.store.run(reads.job(job_id))
    action = operations.delete(job_id, only=(JobState.DEAD,))
    await carried_out(visit, job_id, action, events.JOB_DELETED, undone="deleted")
    back = visit.after_confirmation("/console/dead/jobs" + Asked(queue=job.queue).query())
    return visit.go(back, f"Deleted job {job_id} ({job.type}).")


@get("/dead/purge", **permission(Permission.DLQ_WRITE))
async def confirm_purge_dead(visit: NamedDependency[Visit], asked: NamedDependency[Asked]) -> Response[str]:
    """Shows what a purge would remove, frozen at this moment."""
    infos = [await visit.store.run(reads.queue(asked.queue))] if asked.queue else await visit.store.run(reads.queues())
    return await _ask(visit, view.purge_form(asked.queue, infos, visit.identity.csrf_token))


@post("/dead/purge", **permission(Permission.DLQ_WRITE, audit="dlq.purge"))
async def purge_dead(visit: NamedDependency[Visit], data: FromForm[view.PurgeSent]) -> Response[Any]:
    """Removes the jobs that were dead when they were shown, nothing that died later."""
    frozen, key = data.frozen(), visit.identity.csrf_token
    if not view.is_as_shown(frozen, data, key):
        raise CrossSiteRequest("the confirmation is not one this session was shown")
    if again := view.problem_of(frozen, data, key):
        return await _ask(visit, again)
    names = [frozen.queue] if frozen.queue else await visit.store.run(reads.queue_names())
    removed = 0
    for name in names:
        removed += (await visit.store.run(operations.purge_dead(name, before_ms=frozen.before_ms))).removed
        visit.note(queue=frozen.queue or None, removed=removed)
    visit.did(events.DEAD_PURGED, queue=frozen.queue or None, removed=removed)
    told = f"Purged {plural(removed, 'dead job')}. Jobs that died later were not touched."
    back = visit.after_confirmation("/console/dead" + Asked(queue=frozen.queue).query())
    return visit.go(back, told)


async def _ask(visit: Visit, form: view.PurgeForm) -> Response[str]:
    """The confirmation; asked again in its place when something was wrong with it."""
    place, status = Place("Purge dead letters", "dead"), 422 if form.problem else 200
    return visit.question("pages/dead/purge.html", form, place, await visit.snapshot(), status=status)
