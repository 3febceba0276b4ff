"""What `leaseforge dev` reads itself, besides the settings of the server and the worker it starts."""

from dataclasses import dataclass

from leaseforge.settings import flag, redis_url, seconds, setting


@dataclass(frozen=True, slots=True)
class DevSettings:
    """How everything runs together on one machine."""

    redis_url: str | None = setting(
        "LEASEFORGE_REDIS_URL",
        default=None,
        parse=redis_url,
        secret=True,
        help="the Redis to use; when not set an embedded server is started",
    )
    drain_s: float = setting(
        "LEASEFORGE_DRAIN_SECONDS",
        default=30.0,
        parse=seconds(0, 3600),
        help="how long a stopping worker may finish what it runs",
    )
    demo_load: bool = setting(
        "LEASEFORGE_DEMO_LOAD", default=True, parse=flag, help="whether demo jobs are enqueued, a few a second"
    )
