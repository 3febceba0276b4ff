"""One job followed to its end: what it is now and every change of it, without its payload and result."""

import time
from collections.abc import AsyncIterator
from typing import Any

from leaseforge import reads
from leaseforge.filters import ENDED
from leaseforge.jobs import Job
from leaseforge.store import Store
from leaseforge_api.event_feed import event_text
from leaseforge_api.event_stream import CHECK_S, HEARTBEAT_S, RETRY_MS, Bearer, Standing
from leaseforge_api.schemas.events import (
    EndEvent,
    EventTopic,
    GoneEvent,
    StartEvent,
    TroubleEvent,
    followed_job_event,
)
from leaseforge_console.live import Listener, Topic
from leaseforge_console.views.snapshot import Snapshot

_TOPICS = (EventTopic.JOBS,)


async def read_head(store: Store, _snapshot: Snapshot, /, job_id: str, queue: str) -> Job:
    """The job as the poller reads it, once for all who follow it. Raises JobNotFound."""
    return await store.run(reads.head(job_id, queue=queue))


def topic_of(job: Job) -> Topic:
    """What the poller reads for it."""
    return Topic(read_head, (job.id, job.queue))


async def follow_job(listener: Listener, standing: Standing, bearer: Bearer, job: Job) -> AsyncIterator[bytes]:
    """The stream as it is sent, beginning with the job as it was just read; ends with the job, server or token."""
    told = event_text("job", followed_job_event(job))
    yield f"retry: {RETRY_MS}\n".encode() + event_text("start", StartEvent(list(_TOPICS), resumed=False)) + told
    if job.state in ENDED:
        yield event_text("end", EndEvent("job-ended"))
        return
    spoke_at = time.monotonic()
    is_in_trouble = False
    async for update in listener.updates(keepalive_s=CHECK_S):
        if not await standing.may_hear(bearer, _TOPICS):
            yield event_text("end", EndEvent("not-authenticated"))
            return
        said, end = b"", ""
        if update is not None and update.gone:
            said, end = event_text("gone", GoneEvent("job", job.id)), "job-gone"
        elif update is not None and update.trouble:
            said = b"" if is_in_trouble else event_text("trouble", TroubleEvent(update.trouble))
            is_in_trouble = True
        elif update is not None:
            now: Any = update.data
            text = event_text("job", followed_job_event(now))
            said = text if text != told or is_in_trouble else b""
            told, is_in_trouble = text, False
            end = "job-ended" if now.state in ENDED else ""
        if not said and time.monotonic() - spoke_at >= HEARTBEAT_S:
            said = b": still here\n\n"
        if said:
            yield said
            spoke_at = time.monotonic()
        if end:
            yield event_text("end", EndEvent(end))
            return
    yield event_text("end", EndEvent("stopping"))
