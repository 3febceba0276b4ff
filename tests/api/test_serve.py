"""The server as a process: what it refuses to start with, and how it stops."""

import http.client
import json
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from leaseforge.errors import SettingsError, StoreUnavailable, StoreUnsuitable
from leaseforge_api.serve import CannotServe, listen, run_server
from leaseforge_api.settings import ServerSettings
from tests.api.conftest import PASSWORD, SECRET
from tests.support import Process, eventually_sync, free_port

LEASEFORGE = Path(sys.executable).with_name("leaseforge")


def environment(**changed: str) -> dict[str, str]:
    return {"LEASEFORGE_AUTH_SECRET": SECRET} | {f"LEASEFORGE_{name}": value for name, value in changed.items()}


def request(port: int, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, Any, str]:
    """Status, JSON (None if there is none) and cookie of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        content = answer.read()
        is_json = "json" in (answer.headers["content-type"] or "")
        cookie = (answer.headers["set-cookie"] or "").partition(";")[0]
        return answer.status, json.loads(content) if is_json else None, cookie
    finally:
        connection.close()


def is_ready(port: int) -> bool:
    try:
        return request(port, "GET", "/ready")[0] == 200
    except OSError:
        return False


def test_no_answer_waits_for_an_acknowledgement_of_the_one_before() -> None:
    with listen(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_server_serves_and_stops_on_sigterm_although_a_stream_is_open(
    processes: Callable[..., Process], redis_url: str
) -> None:
    port = free_port()
    environ = environment(REDIS_URL=redis_url, API_ADDR=f"127.0.0.1:{port}", ADMIN_PASSWORD=PASSWORD)
    server = processes([LEASEFORGE, "server"], env=environ)
    eventually_sync(lambda: is_ready(port), within_s=60)

    login = json.dumps({"username": "admin", "password": PASSWORD})
    status, answer, _ = request(port, "POST", "/api/auth/login", login, Content_Type="application/json")
    assert status == 200
    token = answer["access_token"]
    status, job, _ = request(
        port, "POST", "/api/jobs", '{"type":"echo"}', Authorization=f"Bearer {token}", Content_Type="application/json"
    )
    assert (status, job["status"]) == (201, "ready")

    form = f"username=admin&password={PASSWORD.replace(' ', '+')}"
    form_headers = {"Content_Type": "application/x-www-form-urlencoded", "Sec_Fetch_Site": "same-origin"}
    status, _, cookie = request(port, "POST", "/console/login", form, **form_headers)
    assert status == 303
    watching = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    watching.request("GET", "/console/live/overview", headers={"Cookie": cookie})
    assert watching.getresponse().status == 200

    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    watching.close()

    lines = [json.loads(line) for line in server.output().splitlines()]
    assert lines[-1]["event"] == "server_stopped"
    answered = [line for line in lines if line["event"] == "request_answered"]
    assert {"method": "POST", "route": "/api/jobs", "status": 201, "user": "admin"}.items() <= answered[-3].items()
    assert all(len(line["request_id"]) == 32 for line in answered)
    for secret in (PASSWORD, SECRET, token, cookie.partition("=")[2]):
        assert secret not in server.output()


def test_a_server_that_cannot_start_says_so_in_one_line(processes: Callable[..., Process]) -> None:
    away = f"redis://:hunter2@127.0.0.1:{free_port()}/0"
    server = processes([LEASEFORGE, "server"], env=environment(REDIS_URL=away))

    assert server.wait(within_s=60) != 0

    said = [line for line in server.output().splitlines() if not line.startswith("{")]
    assert len(said) == 1, server.output()
    assert said[0].startswith("leaseforge: ")
    assert "hunter2" not in server.output()


async def test_a_redis_that_is_away_is_refused() -> None:
    with pytest.raises(StoreUnavailable):
        await run_server(ServerSettings.read(environment(REDIS_URL=f"redis://127.0.0.1:{free_port()}/0")))


@pytest.fixture
def evicting(redis_client: "redis.Redis") -> Iterator[None]:
    """The test's Redis may throw data away for the length of a test."""
    before = str(redis_client.config_get("maxmemory-policy")["maxmemory-policy"])
    redis_client.config_set("maxmemory-policy", "allkeys-lru")
    yield
    redis_client.config_set("maxmemory-policy", before)


async def test_a_redis_that_may_evict_jobs_is_refused(evicting: None, redis_url: str) -> None:
    with pytest.raises(StoreUnsuitable, match="maxmemory-policy"):
        await run_server(ServerSettings.read(environment(REDIS_URL=redis_url)))


async def test_data_of_another_layout_is_refused(redis_client: "redis.Redis", redis_url: str) -> None:
    redis_client.set("lf:{sys}:schema", "999")

    with pytest.raises(StoreUnsuitable, match="layout version 999"):
        await run_server(ServerSettings.read(environment(REDIS_URL=redis_url)))


async def test_an_address_that_is_taken_is_named(redis_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        with pytest.raises(CannotServe, match=address):
            await run_server(ServerSettings.read(environment(REDIS_URL=redis_url, API_ADDR=address)))


@pytest.mark.parametrize(
    ("changed", "variables"),
    [
        ({"AUTH_SECRET": "short"}, ["AUTH_SECRET"]),
        ({"API_ADDR": "nowhere"}, ["API_ADDR"]),
        ({"ENVIRONMENT": "x" * 33}, ["ENVIRONMENT"]),
        ({"LOG_LEVEL": "loud"}, ["LOG_LEVEL"]),
        ({"REDIS_URL": "http://127.0.0.1"}, ["REDIS_URL"]),
        ({"REDIS_URL": "x", "AUTH_SECRET": "x", "API_ADDR": "x"}, ["API_ADDR", "AUTH_SECRET", "REDIS_URL"]),
    ],
)
def test_every_wrong_setting_is_named_at_once(changed: dict[str, str], variables: list[str]) -> None:
    with pytest.raises(SettingsError) as refused:
        ServerSettings.read(environment(**changed))

    assert sorted(problem.field for problem in refused.value.problems) == [f"LEASEFORGE_{name}" for name in variables]
