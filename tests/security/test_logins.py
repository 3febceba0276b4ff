"""Many logins at once, and what a refusal gives away. Figures are printed, never asserted."""

import random
import statistics
import threading
import time

import httpx
import pytest

from tests.security.conftest import PASSWORD, Running, Serve

LOGIN = "/api/auth/login"


def test_a_storm_of_logins_leaves_the_server_answering(serve: Serve) -> None:
    server = serve()
    statuses: list[int] = []
    stop = threading.Event()
    took: list[float] = []

    def probe() -> None:
        with server.client() as client:
            while not stop.is_set():
                started = time.perf_counter()
                assert client.get("/health").status_code == 200
                took.append(time.perf_counter() - started)
                time.sleep(0.01)

    def log_in(number: int) -> None:
        with server.client() as client:
            sent = {"username": "admin", "password": PASSWORD if number % 2 else "wrong"}
            statuses.append(client.post(LOGIN, json=sent).status_code)

    probing = threading.Thread(target=probe)
    probing.start()
    storm = [threading.Thread(target=log_in, args=(number,)) for number in range(50)]
    for one in storm:
        one.start()
    for one in storm:
        one.join(60)
    stop.set()
    probing.join(30)

    assert len(statuses) == 50
    assert set(statuses) <= {200, 401, 429}, statuses
    assert len(took) > 10
    p95 = statistics.quantiles(took, n=20)[-1]
    print(f"/health during 50 parallel logins: p95 {p95 * 1000:.0f} ms of {len(took)}; statuses {sorted(statuses)}")


@pytest.mark.timeout(300)
def test_a_refusal_does_not_tell_whether_there_is_such_an_account(serve: Serve) -> None:
    # Every attempt comes from an address of its own, or the throttle would answer.
    server = serve(TRUSTED_PROXIES="127.0.0.1")
    tries = ["admin", "nobody"] * 20
    random.shuffle(tries)
    answers = {name: set[tuple[int, str]]() for name in ("admin", "nobody")}
    took: dict[str, list[float]] = {"admin": [], "nobody": []}
    with server.client() as client:
        for number, name in enumerate(tries):
            started = time.perf_counter()
            answer = _try(client, name, number)
            took[name].append(time.perf_counter() - started)
            body = answer.json()
            answers[name].add((answer.status_code, body["detail"] + body["title"] + body["type"]))

    assert answers["admin"] == answers["nobody"]
    assert {status for status, _ in answers["admin"]} == {401}
    known, unknown = (statistics.median(took[name]) * 1000 for name in ("admin", "nobody"))
    print(f"median of a refusal: known {known:.1f} ms, unknown {unknown:.1f} ms, {abs(known / unknown - 1):.1%} apart")


def _try(client: httpx.Client, name: str, number: int) -> httpx.Response:
    return client.post(
        LOGIN,
        json={"username": name, "password": "wrong"},
        headers={"X-Forwarded-For": f"203.0.{number // 200}.{number % 200 + 1}"},
    )


def test_an_address_that_is_made_up_is_believed_from_trusted_proxies_only(serve: Serve) -> None:
    server = serve()
    assert 429 in _storm(server, 12)


def _storm(server: Running, times: int) -> list[int]:
    with server.client() as client:
        return [_try(client, "admin", number).status_code for number in range(times)]
