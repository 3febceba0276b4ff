"""Secrets are replaced while the servers are used: nobody who is logged in is thrown out, and nothing old lives on."""

import threading
from collections import Counter
from collections.abc import Callable

import httpx

from tests.security.conftest import SECRET, Running, Serve

NEXT = "the next secret for these tests of more than thirty-two bytes"


def test_tokens_stay_valid_while_servers_take_up_a_new_secret_one_after_the_other(serve: Serve) -> None:
    old = serve(AUTH_SECRET=SECRET)
    early = old.login()
    statuses: Counter[int] = Counter()
    stop = threading.Event()
    # First every server learns the new secret, only then does one sign with it.
    learning = serve(AUTH_SECRET=f"{SECRET},{NEXT}")
    signing = serve(AUTH_SECRET=f"{NEXT},{SECRET}")
    late = signing.login()
    users = [
        threading.Thread(target=_ask, args=(server, headers, statuses, stop))
        for server, headers in ((old, early), (learning, early), (signing, early), (learning, late), (signing, late))
    ]
    for user in users:
        user.start()
    replaced = serve(AUTH_SECRET=f"{NEXT},{SECRET}")
    _ask(replaced, early, statuses, stop, times=20)
    _ask(replaced, late, statuses, stop, times=20)
    stop.set()
    for user in users:
        user.join(30)

    assert set(statuses) == {200}
    assert statuses[200] > 100
    # The old one is dropped: what it signed is worth nothing, what the new one signed goes on.
    dropped = serve(AUTH_SECRET=NEXT)
    with dropped.client() as client:
        assert client.get("/api/auth/me", headers=early).status_code == 401
        assert client.get("/api/auth/me", headers=late).status_code == 200


def _ask(
    server: Running, headers: dict[str, str], statuses: "Counter[int]", stop: threading.Event, times: int = 10_000
) -> None:
    with server.client() as client:
        for _ in range(times):
            if stop.is_set() and times == 10_000:
                return
            statuses[client.get("/api/auth/me", headers=headers).status_code] += 1


def test_what_one_server_ends_is_ended_on_the_other_with_the_next_request(serve: Serve) -> None:
    first, second = serve(), serve()
    admin = first.login()
    with first.client() as one, second.client() as other:
        new_user = {"username": "ada", "roles": ["operator"], "password": "correct horse"}
        assert one.post("/api/users", json=new_user, headers=admin).status_code == 201
        ends: tuple[Callable[[], httpx.Response], ...] = (
            lambda: one.patch("/api/users/ada", json={"roles": ["operator"]}, headers=admin),
            lambda: one.post("/api/users/ada/logout", headers=admin),
            lambda: one.delete("/api/users/ada", headers=admin),
        )
        for end in ends:
            ada = first.login("ada", "correct horse")
            assert other.get("/api/queues", headers=ada).status_code == 200
            assert end().status_code < 300
            assert other.get("/api/queues", headers=ada).status_code == 401
