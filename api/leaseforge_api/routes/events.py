"""The stream of what changes, for programs that would otherwise ask again and again."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from litestar import Request, Router, get
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream

from leaseforge import reads
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.jobs import Job
from leaseforge.store import Store
from leaseforge_api.event_feed import EventFeed
from leaseforge_api.event_stream import Bearer, Standing, stream_events
from leaseforge_api.job_stream import follow_job, topic_of
from leaseforge_api.schemas.events import EventTopic
from leaseforge_auth.api_tokens import Shown
from leaseforge_auth.errors import NotPermitted
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.tokens import Claims
from leaseforge_console.live import Live

Topics = Annotated[
    str | None,
    QueryParameter(name="topics", description="What to hear of, with commas between; everything one may if left out."),
]
FollowedJob = Annotated[
    str | None,
    QueryParameter(name="job", description="The id of one job to follow to its end; goes with no topics."),
]
LastEventId = Annotated[
    str | None,
    HeaderParameter(name="Last-Event-ID", description="The `id` that was heard last: the stream goes on behind it."),
]


@get(
    "/events",
    summary="Stream events",
    **permission(Permission.QUEUES_READ, Permission.JOBS_READ, Permission.WORKERS_READ, Permission.SYSTEM_READ),
)
async def watch(
    request: Request[Identity, Any, Any],
    state: State,
    identity: NamedDependency[Identity],
    event_feed: NamedDependency[EventFeed],
    standing: NamedDependency[Standing],
    store: NamedDependency[Store],
    topics: Topics = None,
    job: FollowedJob = None,
    last_event_id: LastEventId = None,
) -> Stream:
    """What changes, as server-sent events, until the server stops or the token ends.

    The stream begins with everything there is, or goes on behind `Last-Event-ID`. With `job` it is about this one job,
    from what it is now to its end. See docs/api.md for the events.
    """
    live: Live = state.live
    content: AsyncIterator[bytes]
    if job is None:
        wanted = _wanted(topics, identity)
        listener = live.take(event_feed.topic, user=identity.username)
        content = stream_events(event_feed, listener, standing, _bearer(request), wanted, last_event_id)
    else:
        followed = await _followed(store, job, topics, identity)
        listener = live.take(topic_of(followed), user=identity.username)
        content = follow_job(listener, standing, _bearer(request), followed)
    # A header keeps proxies from holding events back.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Stream(content, media_type="text/event-stream", headers=headers)


async def _followed(store: Store, job_id: str, topics: str | None, identity: Identity) -> Job:
    """The job that was asked for. Raises BadInput, NotPermitted, JobNotFound."""
    if topics is not None:
        raise BadInput([FieldProblem("job", "goes with no topics: the stream is about this job alone")])
    if not identity.can(EventTopic.JOBS.permission):
        raise NotPermitted(EventTopic.JOBS.permission)
    return await store.run(reads.head(job_id))


def _wanted(topics: str | None, identity: Identity) -> Sequence[EventTopic]:
    """The topics that were asked for, else all the caller may hear of. Raises BadInput, NotPermitted."""
    if topics is None:
        return [topic for topic in EventTopic if identity.can(topic.permission)]
    names = list(dict.fromkeys(topics.split(",")))
    unknown = [name for name in names if name not in EventTopic.__members__.values()]
    if unknown:
        raise BadInput([FieldProblem("topics", f"must be some of {', '.join(EventTopic)}, with commas between")])
    wanted = [topic for topic in EventTopic if topic in names]
    missing = sorted({topic.permission for topic in wanted if not identity.can(topic.permission)})
    if missing:
        raise NotPermitted(" and ".join(missing))
    return wanted


def _bearer(request: Request[Identity, Any, Any]) -> Bearer:
    shown: Claims | Shown = request.auth
    expires_at_ms = shown.expires_at_ms
    token = request.headers["authorization"].partition(" ")[2].strip()
    return Bearer(token, request.user.username, None if expires_at_ms is None else expires_at_ms / 1000)


router = Router("/", route_handlers=[watch], tags=["events"])
