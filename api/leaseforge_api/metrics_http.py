"""What a server counts of the HTTP requests it answers."""

from collections.abc import Iterator

from prometheus_client.core import Metric

from leaseforge.meters import OTHER, REQUEST_BOUNDS_S, Durations, gauge, histogram

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNMATCHED = "unmatched"
"""The route of a path that leads nowhere: such paths are chosen by callers."""
_MOST = 1000


class HttpMeters:
    """Requests by method, route template and class of status. A stream counts with the time until it begins."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.streams = 0
        self._answered: dict[tuple[str, ...], Durations] = {}

    def is_alone(self) -> bool:
        """Whether the request that asks is the only one under way; streams do not count."""
        return self.in_flight <= 1

    def began(self) -> None:
        """A request came in."""
        self.in_flight += 1

    def streaming(self) -> None:
        """A request that is under way became a stream of events."""
        self.in_flight -= 1
        self.streams += 1

    def ended(self, method: str, route: str, status: int, seconds: float, *, was_stream: bool) -> None:
        """A request is over. `status` is 0 if no answer began, `route` the template."""
        if was_stream:
            self.streams -= 1
        else:
            self.in_flight -= 1
        labels = (method if method in METHODS else OTHER, route, f"{status // 100}xx" if status else "none")
        durations = self._answered.get(labels)
        if durations is None:
            if len(self._answered) >= _MOST:
                labels = (OTHER, OTHER, labels[2])
            durations = self._answered.setdefault(labels, Durations(REQUEST_BOUNDS_S))
        durations.add(seconds)

    def families(self) -> Iterator[Metric]:
        """As Prometheus reads it."""
        yield gauge("leaseforge_http_requests_in_flight", "Requests that are being answered", self.in_flight)
        yield gauge("leaseforge_http_streams_open", "Event streams that are open", self.streams)
        text = "Requests answered, by route; of an event stream, the time until it began"
        yield histogram("leaseforge_http_request_duration_seconds", text, ["method", "route", "status"], self._answered)
