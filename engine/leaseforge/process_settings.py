"""What server and worker are told alike."""

from dataclasses import dataclass

from leaseforge.logs import FORMATS, levels
from leaseforge.metrics_token import metrics_token
from leaseforge.settings import one_of, part, setting
from leaseforge.tracing_settings import OFF, TracingSettings


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """How a process logs, who may scrape it, and whether it records traces."""

    log_level: str = setting(
        "LEASEFORGE_LOG_LEVEL",
        default="info",
        parse=levels,
        help="debug, info, warning or error; info,worker=debug for parts. A worker's debug tells each step of each job",
    )
    log_format: str = setting(
        "LEASEFORGE_LOG_FORMAT",
        default="auto",
        parse=one_of(*FORMATS),
        help="json, text, or auto: text on a terminal, else json",
    )
    metrics_token: str = setting(
        "LEASEFORGE_METRICS_TOKEN",
        default="",
        parse=metrics_token,
        secret=True,
        help="bearer token that /metrics asks for; open to everybody without",
    )
    tracing: TracingSettings = part(TracingSettings, default=OFF)  # noqa: RUF009 -- a field() like the others
