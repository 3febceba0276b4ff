"""What the server says of itself and of everything together."""

from msgspec import Struct


class Version(Struct, frozen=True):
    """The versions that matter when something is reported."""

    version: str
    python: str
    environment: str


class Stats(Struct, frozen=True):
    """All queues together: jobs by state now, what happened since the beginning, live workers and their slots."""

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


class Alive(Struct, frozen=True):
    """The process answers; nothing is said about Redis."""

    status: str
