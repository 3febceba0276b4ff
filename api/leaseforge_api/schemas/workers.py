"""Workers as the API shows them."""

from msgspec import Struct

from leaseforge.workers import WorkerInfo
from leaseforge_api.schemas.values import Instant, instant


class RunningJob(Struct, frozen=True):
    """A job on a worker, as of the worker's last report. `fence` is the fencing integer of its claim."""

    id: str
    queue: str
    type: str
    fence: int
    started_at: Instant


class Worker(Struct, frozen=True):
    """A worker process. `running` names the first 100 of its `running_count` jobs.

    `state` is running, quiet (claims nothing new), stopping or lost (its reports stopped).
    """

    id: str
    host: str
    pid: int
    version: str
    queues: list[str]
    types: list[str]
    slots: int
    state: str
    running_count: int
    running: list[RunningJob]
    rss_bytes: int
    longest_renewal_gap_ms: int
    started_at: Instant
    last_seen_at: Instant


def worker(info: WorkerInfo) -> Worker:
    """A worker's snapshot as answers show it."""
    return Worker(
        id=info.id,
        host=info.host,
        pid=info.pid,
        version=info.version,
        queues=list(info.queues),
        types=list(info.types),
        slots=info.slots,
        state=info.state,
        running_count=info.running_count,
        running=[RunningJob(job.id, job.queue, job.type, job.fence, instant(job.started_at)) for job in info.running],
        rss_bytes=info.rss_bytes,
        longest_renewal_gap_ms=info.longest_renewal_gap_ms,
        started_at=instant(info.started_at),
        last_seen_at=instant(info.last_seen_at),
    )
