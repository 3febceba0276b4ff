"""What a server counts of its requests, and how scrapes share the work."""

import asyncio
import time
from typing import Any

import pytest

from leaseforge.errors import StoreUnavailable
from leaseforge_api import metrics
from leaseforge_api.edge import Edge
from leaseforge_api.metrics import Scrapes, ServerMeters
from leaseforge_api.metrics_http import HttpMeters


def told(meters: HttpMeters) -> dict[tuple[str, ...], float]:
    """Samples by the end of their name and their labels' values, without buckets and sums."""
    return {
        (sample.name.removeprefix("leaseforge_http_"), *sample.labels.values()): sample.value
        for family in meters.families()
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_sum"))
    }


def test_a_request_is_in_flight_until_it_is_over() -> None:
    meters = HttpMeters()
    meters.began()
    meters.began()
    meters.ended("GET", "/api/jobs/{job_id}", 404, 0.01, was_stream=False)

    assert told(meters) == {
        ("requests_in_flight",): 1,
        ("streams_open",): 0,
        ("request_duration_seconds_count", "GET", "/api/jobs/{job_id}", "4xx"): 1,
    }


def test_an_answer_that_never_began_has_no_class_of_status() -> None:
    meters = HttpMeters()
    meters.began()
    meters.ended("GET", "/livez", 0, 0.01, was_stream=False)

    assert ("request_duration_seconds_count", "GET", "/livez", "none") in told(meters)


def test_there_is_a_limit_to_what_is_told_apart() -> None:
    meters = HttpMeters()
    for number in range(1500):
        meters.began()
        meters.ended("GET", f"/route-{number}", 200, 0.01, was_stream=False)

    counts = {labels: count for labels, count in told(meters).items() if labels[0] == "request_duration_seconds_count"}
    assert len(counts) == 1001
    assert counts["request_duration_seconds_count", "other", "other", "2xx"] == 500


async def test_a_stream_is_open_and_counts_with_the_time_until_it_began() -> None:
    meters = HttpMeters()
    began, go_on = asyncio.Event(), asyncio.Event()

    async def stream(_scope: Any, _receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        began.set()
        await go_on.wait()
        await send({"type": "http.response.body", "body": b""})

    async def send(_message: Any) -> None:
        pass

    edge = Edge(stream, root_path="", is_https=False, meters=meters)
    scope: Any = {"type": "http", "method": "GET", "path": "/api/events", "headers": [], "path_template": "/api/events"}
    started = time.perf_counter()
    serving = asyncio.create_task(edge(scope, None, send))  # type: ignore[arg-type]  # nothing is received
    await began.wait()
    until_it_had_begun = time.perf_counter() - started
    during = told(meters)
    go_on.set()
    await serving

    assert (during["requests_in_flight",], during["streams_open",]) == (0, 1)
    after = told(meters)
    assert (after["requests_in_flight",], after["streams_open",]) == (0, 0)
    assert after["request_duration_seconds_count", "GET", "/api/events", "2xx"] == 1
    [total] = [
        sample.value
        for family in meters.families()
        for sample in family.samples
        if sample.name.endswith("duration_seconds_sum")
    ]
    assert 0 < total < until_it_had_begun


class Readings:
    """Stands in for Redis: readings last until they are let go."""

    def __init__(self, error: Exception | None = None) -> None:
        self.count = 0
        self.go_on = asyncio.Event()
        self.error = error

    async def read(self, _store: object) -> list[Any]:
        self.count += 1
        await self.go_on.wait()
        if self.error is not None:
            raise self.error
        return []


async def test_scrapes_at_one_time_share_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = Readings()
    monkeypatch.setattr(metrics, "read_installation", readings.read)
    scrapes = Scrapes(None, ServerMeters())  # type: ignore[arg-type]  # nothing is asked of it here
    asked = [asyncio.create_task(scrapes.page()) for _ in range(20)]
    await asyncio.sleep(0)
    asked[0].cancel()
    await asyncio.sleep(0)
    readings.go_on.set()

    pages = await asyncio.gather(*asked[1:])
    again = await scrapes.page()

    assert readings.count == 2
    assert all(b"leaseforge_build_info" in page for page in (*pages, again))


async def test_every_scrape_hears_that_redis_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = Readings(StoreUnavailable("away"))
    monkeypatch.setattr(metrics, "read_installation", readings.read)
    scrapes = Scrapes(None, ServerMeters())  # type: ignore[arg-type]  # nothing is asked of it here
    asked = [asyncio.create_task(scrapes.page()) for _ in range(3)]
    await asyncio.sleep(0)
    readings.go_on.set()

    pages = await asyncio.gather(*asked)
    readings.error = None
    afterwards = await scrapes.page()

    assert all(b"leaseforge_server_degraded 1.0" in page and b"leaseforge_build_info" in page for page in pages)
    assert b"leaseforge_server_degraded 0.0" in afterwards


async def test_a_redis_that_hangs_holds_no_scrape_up(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = Readings()
    monkeypatch.setattr(metrics, "read_installation", readings.read)
    monkeypatch.setattr(metrics, "PATIENCE_S", 0.01)
    scrapes = Scrapes(None, ServerMeters())  # type: ignore[arg-type]  # nothing is asked of it here

    page = await scrapes.page()
    readings.go_on.set()
    afterwards = await scrapes.page()

    assert b"leaseforge_server_degraded 1.0" in page
    assert b"leaseforge_server_degraded 0.0" in afterwards


async def test_a_defect_in_a_reading_is_not_taken_for_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = Readings(ZeroDivisionError())
    readings.go_on.set()
    monkeypatch.setattr(metrics, "read_installation", readings.read)

    with pytest.raises(ZeroDivisionError):
        await Scrapes(None, ServerMeters()).page()  # type: ignore[arg-type]  # nothing is asked of it here
