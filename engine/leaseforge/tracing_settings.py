"""Whether this process records traces, and where it sends them: the standard variables of OpenTelemetry.

Those that only its SDK understands (headers, certificates, resource attributes, batch sizes) it reads itself; what is
checked here is what would otherwise go wrong silently.
"""

import math
import re
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit

from leaseforge.settings import flag, one_of, setting

GRPC = "grpc"
HTTP = "http/protobuf"
_PACKAGES = (
    "opentelemetry.sdk",
    "opentelemetry.exporter.otlp.proto.grpc",
    "opentelemetry.exporter.otlp.proto.http",
)
_SAMPLERS = (
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
)
_HOST_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


def switch(text: str) -> bool:
    """Parses true or false; true needs the packages of the extra `otel`."""
    is_on = flag(text)
    if is_on and not has_packages():
        raise ValueError("needs packages that are not installed: pip install 'leaseforge[otel]'")
    return is_on


def has_packages() -> bool:
    """Whether what the extra `otel` brings is installed. Imports nothing but a name space."""
    try:
        return all(find_spec(name) is not None for name in _PACKAGES)
    except ModuleNotFoundError:
        return False


def otlp_endpoint(text: str) -> str:
    """Checks where spans go: host:port for OTLP over gRPC, an http or https URL for OTLP over HTTP."""
    text = text.strip()
    if (plain := _HOST_PORT.fullmatch(text)) is not None and 0 < int(plain[2]) <= 65_535:
        return text
    url = urlsplit(text)
    try:
        is_url = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise ValueError("must be host:port (OTLP over gRPC) or an http or https URL (OTLP over HTTP)")
    if url.username is not None or url.password is not None:
        raise ValueError("must hold no user and password: use OTEL_EXPORTER_OTLP_HEADERS")
    return text


def share(text: str) -> float:
    """Parses a share from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise ValueError("must be a number from 0 to 1, the share of traces that is recorded")
    return value


def timeout(text: str) -> float:
    """Parses a number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 60:
        raise ValueError("must be a number of seconds, more than 0 and at most 60")
    return value


@dataclass(frozen=True, slots=True)
class TracingSettings:
    """Off unless `enabled`, and an endpoint is set."""

    enabled: bool = setting(
        "OTEL_TRACING_ENABLED",
        default=False,
        parse=switch,
        help="record traces and send them to an OpenTelemetry collector; needs an endpoint too",
    )
    endpoint: str = setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        default="",
        parse=otlp_endpoint,
        help="the collector: host:port is OTLP over gRPC, an http(s) URL OTLP over HTTP (/v1/traces is added)",
    )
    traces_endpoint: str = setting(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        default="",
        parse=otlp_endpoint,
        help="the same for traces alone; a URL is used as it is",
    )
    protocol: str = setting(
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        default="",
        parse=one_of(GRPC, HTTP),
        help="overrides what the endpoint's form says",
    )
    traces_protocol: str = setting(
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        default="",
        parse=one_of(GRPC, HTTP),
        help="the same for traces alone",
    )
    timeout_s: float = setting(
        "OTEL_EXPORTER_OTLP_TIMEOUT",
        default=10.0,
        parse=timeout,
        help="how long the sending thread tries to hand over one batch of spans, in seconds",
    )
    sampler: str = setting(
        "OTEL_TRACES_SAMPLER",
        default="parentbased_always_on",
        parse=one_of(*_SAMPLERS),
        help="which traces are recorded; the parentbased ones do what the caller does, if there is one",
    )
    sampled_share: float = setting(
        "OTEL_TRACES_SAMPLER_ARG",
        default=1.0,
        parse=share,
        help="of the traceidratio samplers: the share of traces that is recorded",
    )
    service_name: str = setting(
        "OTEL_SERVICE_NAME",
        default="",
        help="what the process is called in traces, instead of leaseforge-server or leaseforge-worker",
    )
    sdk_disabled: bool = setting(
        "OTEL_SDK_DISABLED",
        default=False,
        parse=flag,
        help="true switches tracing off whatever else is set",
    )

    @property
    def is_on(self) -> bool:
        """Whether traces are recorded."""
        return self.enabled and not self.sdk_disabled and bool(self.target)

    @property
    def target(self) -> str:
        """Where spans go, '' for nowhere."""
        return self.traces_endpoint or self.endpoint

    @property
    def uses_grpc(self) -> bool:
        """Whether spans go over gRPC, not HTTP."""
        protocol = self.traces_protocol or self.protocol
        return protocol == GRPC if protocol else "://" not in self.target

    @property
    def url(self) -> str:
        """Where spans go over HTTP."""
        url = self.traces_endpoint or f"{self.endpoint.rstrip('/')}/v1/traces"
        return url if "://" in url else f"http://{url}"


OFF = TracingSettings()
