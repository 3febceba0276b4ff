"""What the server says of itself and of everything together."""

from msgspec import Struct


class Version(Struct, frozen=True):
    """The versions that matter when something is reported."""

    version: str
    python: str
    environment: str


class Stats(Struct, frozen=True):
    """All queues together: jobs by state now, what happened since the beginning, live workers and their slots.

    `enqueued` and `completed` are totals since the beginning; `processing`, `delayed` (scheduled and retrying) and
    `dead` are jobs now.
    """

    enqueued: int
    processing: int
    delayed: int
    completed: int
    dead: int

    queues: int
    paused_queues: int
    counts: dict[str, int]
    totals: dict[str, int]
    workers: int
    slots: int


class Health(Struct, frozen=True):
    """The state of this process, and whether it reaches Redis (`ok` or `unreachable`)."""

    status: str
    redis: str


class RedisHealth(Struct, frozen=True):
    """The server behind it. `memory_limit_bytes` is null without a limit; with several primaries it is the first."""

    version: str
    latency_ms: float
    memory_bytes: int
    memory_limit_bytes: int | None
    clients: int
    appendonly: bool


class Finding(Struct, frozen=True):
    """Something an operator should look at. `kind` is for programs and does not change."""

    kind: str
    detail: str
    queue: str | None = None
    worker: str | None = None


class SystemHealth(Struct, frozen=True):
    """`status` is `ok`, or `degraded` with what was found: at most 100 `findings` of `findings_total`."""

    status: str
    redis: RedisHealth
    findings: list[Finding]
    findings_total: int


class Alive(Struct, frozen=True):
    """The process answers; nothing is said about Redis."""

    status: str
