"""The worker's own HTTP port."""

import http.client
import json
from collections.abc import Iterator

import pytest

from leaseforge_worker.health import AddressInUse, Health, HealthServer


class Told:
    """A health server whose answers a test sets."""

    def __init__(self, *, metrics_token: str = "") -> None:
        self.redis_ok = True
        self.accepts_work = True
        self.server = HealthServer(
            ("127.0.0.1", 0),
            health=lambda: Health(self.redis_ok, self.accepts_work),
            metrics=lambda: b"metric 1\n",
            metrics_token=metrics_token,
        )

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, bytes]:
        connection = http.client.HTTPConnection(*self.server.address, timeout=5)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers["Content-Type"], body

    def status(self, path: str) -> tuple[int, dict[str, str]]:
        status, _, body = self.ask(path)
        return status, json.loads(body)


@pytest.fixture
def told() -> Iterator[Told]:
    made = Told()
    yield made
    made.server.close()


def test_all_is_well(told: Told) -> None:
    assert told.status("/livez") == (200, {"status": "ok"})
    assert told.status("/health") == (200, {"status": "ok", "redis": "ok"})
    assert told.status("/ready?verbose=1") == (200, {"status": "ready", "redis": "ok"})


def test_without_redis_only_the_process_is_alive(told: Told) -> None:
    told.redis_ok = False

    assert told.status("/livez") == (200, {"status": "ok"})
    assert told.status("/health") == (503, {"status": "unavailable", "redis": "unavailable"})
    assert told.status("/ready") == (503, {"status": "not_ready", "redis": "unavailable"})


def test_a_worker_that_takes_no_work_is_healthy_but_not_ready(told: Told) -> None:
    told.accepts_work = False

    assert told.status("/health") == (200, {"status": "ok", "redis": "ok"})
    assert told.status("/ready") == (503, {"status": "not_ready", "redis": "ok"})


def test_metrics_are_prometheus_text(told: Told) -> None:
    assert told.ask("/metrics") == (200, "text/plain; version=0.0.4; charset=utf-8", b"metric 1\n")


def test_other_paths_and_methods_are_refused(told: Told) -> None:
    assert told.ask("/")[0] == 404
    assert told.ask("/metrics/../etc/passwd")[0] == 404
    assert told.ask("/metrics", "POST")[0] == 501
    assert told.ask("/livez", "HEAD")[::2] == (200, b"")


def test_a_busy_address_is_told_with_the_setting_that_changes_it(told: Told) -> None:
    with pytest.raises(AddressInUse, match=r"is in use: .*LEASEFORGE_METRICS_ADDR"):
        HealthServer(told.server.address, health=lambda: Health(True, True), metrics=bytes)


def test_an_address_of_another_machine_is_told_too() -> None:
    with pytest.raises(AddressInUse, match="cannot be used"):
        HealthServer(("192.0.2.1", 8081), health=lambda: Health(True, True), metrics=bytes)


def test_with_a_token_only_who_sends_it_gets_metrics() -> None:
    told = Told(metrics_token="a-token-for-scrapers")
    try:
        refused = [told.ask("/metrics"), told.ask("/metrics", Authorization="Bearer another-token-here")]
        let_in = told.ask("/metrics", Authorization="bearer a-token-for-scrapers")
        probed = told.status("/ready")
    finally:
        told.server.close()

    assert [status for status, _, _ in refused] == [401, 401]
    assert not any(b"metric" in body for _, _, body in refused)
    assert (let_in[0], let_in[2]) == (200, b"metric 1\n")
    assert probed[0] == 200
