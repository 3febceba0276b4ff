"""What a worker process can be told by its environment."""

from dataclasses import dataclass

from leaseforge.limits import CHUNK, MAX_BACKOFF_MS, MAX_LEASE_MS, MIN_LEASE_MS
from leaseforge.policies import Policy
from leaseforge.process_settings import ProcessSettings
from leaseforge.settings import address, redis_url, seconds, setting, whole
from leaseforge_worker.queues import QueueChoice, parse_queues

_OFF = "off"


def optional_address(text: str) -> tuple[str, int] | None:
    """Parses host:port, or `off` for none."""
    return None if text.strip().lower() == _OFF else address(text)


@dataclass(frozen=True, slots=True)
class WorkerSettings(ProcessSettings):
    """How one worker process runs. Times are in seconds."""

    redis_url: str = setting(
        "LEASEFORGE_REDIS_URL",
        default="redis://127.0.0.1:6379/0",
        parse=redis_url,
        secret=True,
        help="redis://, rediss://, unix://, sentinel(s):// or cluster(s):// URL of the server",
    )
    queues: QueueChoice = setting(  # noqa: RUF009 -- a field() like the others; QueueChoice is frozen
        "LEASEFORGE_WORKER_QUEUES",
        default=QueueChoice(("default",)),
        parse=parse_queues,
        help="queues to serve: a,b in strict order, a=3,b=1 by weight, or * for every queue",
    )
    concurrency: int = setting(
        "LEASEFORGE_WORKER_CONCURRENCY", default=16, parse=whole(1, 1000), help="jobs one worker runs at once"
    )
    processes: int = setting(
        "LEASEFORGE_WORKER_PROCESSES",
        default=1,
        parse=whole(1, 64),
        help="worker processes under one parent, each with its own slots",
    )
    batch_size: int = setting(
        "LEASEFORGE_BATCH_SIZE",
        default=CHUNK,
        parse=whole(1, CHUNK),
        help="at most so many jobs are claimed in one go; under load batches grow up to it by themselves",
    )
    lease_s: float = setting(
        "LEASEFORGE_LEASE_SECONDS",
        default=10.0,
        parse=seconds(MIN_LEASE_MS / 1000, MAX_LEASE_MS / 1000),
        help="how long a job stays with a worker that gives no sign of life; renewed each third of it",
    )
    drain_s: float = setting(
        "LEASEFORGE_DRAIN_SECONDS",
        default=30.0,
        parse=seconds(0, 3600),
        help="how long a stopping worker may finish what it runs; the rest is given back uncharged",
    )
    backoff_base_s: float = setting(
        "LEASEFORGE_BACKOFF_BASE",
        default=1.0,
        parse=seconds(0.001, MAX_BACKOFF_MS / 1000),
        help="pause before the first retry of a job whose task says nothing else; doubled each time",
    )
    backoff_cap_s: float = setting(
        "LEASEFORGE_BACKOFF_CAP",
        default=60.0,
        parse=seconds(0.001, MAX_BACKOFF_MS / 1000),
        help="longest pause before a retry of a job whose task says nothing else",
    )
    metrics_address: tuple[str, int] | None = setting(
        "LEASEFORGE_METRICS_ADDR",
        default=("127.0.0.1", 8081),
        parse=optional_address,
        help="host:port of /livez, /health, /ready and /metrics; off for none",
    )

    @property
    def lease_ms(self) -> int:
        """The lease in the engine's unit."""
        return round(self.lease_s * 1000)

    @property
    def policy(self) -> Policy:
        """How a job is run whose producer and task leave it open."""
        return Policy(
            backoff_base_ms=max(1, round(self.backoff_base_s * 1000)),
            backoff_cap_ms=max(1, round(self.backoff_cap_s * 1000)),
        )
