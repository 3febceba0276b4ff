"""How commands speak to the API: what they send again, what they refuse to take for an answer, what they print."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from leaseforge_cli.client import ApiClient, Refused, Unreachable, printable, segment
from leaseforge_cli.exits import CommandFailed, ExitCode
from tests.support import free_port


class Script(BaseHTTPRequestHandler):
    """Answers what it was told to, one after the other."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar[list[tuple[int, dict[str, str], bytes]]] = []
    seen: ClassVar[list[tuple[str, str, str | None, bytes]]] = []

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.seen.append((self.command, self.path, self.headers.get("Idempotency-Key"), body))
        status, headers, content = self.answers.pop(0)
        if status == 0:
            # Leaves without a word, as a server does with a connection it thinks nobody uses.
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps quiet."""


@pytest.fixture
def scripted() -> Iterator[str]:
    Script.answers, Script.seen = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Script)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/prefix"
    server.shutdown()
    server.server_close()
    thread.join()


OK: tuple[int, dict[str, str], bytes] = (200, {}, b'{"ok": true}')
BUSY = (
    503,
    {"Retry-After": "0"},
    b'{"type": "urn:leaseforge:problem:too-busy", "detail": "later", "request_id": "r1"}',
)


def test_a_busy_server_is_asked_again_with_the_same_key(scripted: str) -> None:
    Script.answers[:] = [BUSY, BUSY, OK]

    with ApiClient(scripted) as client:
        assert client.post("jobs", {"a": 1}, key="k") == {"ok": True}

    assert Script.seen == [("POST", "/prefix/api/jobs", "k", b'{"a":1}')] * 3


def test_a_server_that_stays_busy_is_told_with_its_request_id(scripted: str) -> None:
    Script.answers[:] = [BUSY] * 3

    with ApiClient(scripted) as client, pytest.raises(Refused) as failed:
        client.get("queues")

    assert failed.value.code == ExitCode.API_UNAVAILABLE
    assert str(failed.value) == "later (503 too-busy, request r1)"


def test_a_connection_the_server_has_closed_meanwhile_is_opened_again(scripted: str) -> None:
    Script.answers[:] = [OK, (0, {}, b""), OK]

    with ApiClient(scripted, tries=1) as client:
        client.get("queues")
        assert client.get("queues") == {"ok": True}


def test_no_answer_on_a_new_connection_is_told_in_the_end() -> None:
    url = f"http://127.0.0.1:{free_port()}"

    with ApiClient(url, tries=1) as client, pytest.raises(Unreachable, match="no answer from") as failed:
        client.get("queues")

    assert failed.value.code == ExitCode.API_UNAVAILABLE


def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"

        with ApiClient(url, timeout_s=0.2, tries=1) as client, pytest.raises(Unreachable):
            client.get("queues")


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, 1), (401, 11), (403, 12), (404, 13), (409, 14), (422, 14), (429, 10), (500, 1), (302, 1)],
)
def test_every_refusal_has_its_exit_code_whoever_answers(status: int, code: int, scripted: str) -> None:
    Script.answers[:] = [(status, {"Location": "http://elsewhere.invalid/"}, b"<html>not ours</html>")]

    with ApiClient(scripted, "secret") as client, pytest.raises(Refused) as failed:
        client.get("queues")

    assert failed.value.code == code
    assert f"({status} {status}" in str(failed.value)
    assert "\n" not in str(failed.value)
    assert len(Script.seen) == 1


def test_an_answer_that_is_no_json_is_no_answer_of_ours(scripted: str) -> None:
    Script.answers[:] = [(200, {}, b"<html>")]

    with ApiClient(scripted) as client, pytest.raises(CommandFailed, match="no Leaseforge server"):
        client.get("queues")


def test_lists_are_read_page_after_page_up_to_the_limit(scripted: str) -> None:
    Script.answers[:] = [
        (200, {}, b'{"items": [1, 2], "total": 9, "next": "a b"}'),
        (200, {}, b'{"items": [3], "total": 9, "next": "c"}'),
    ]

    with ApiClient(scripted) as client:
        page = client.listed("jobs", limit=3, queue="mail", state=None)

    assert page == {"items": [1, 2, 3], "total": 9, "next": "c"}
    assert [path for _, path, _, _ in Script.seen] == [
        "/prefix/api/jobs?limit=3&queue=mail",
        "/prefix/api/jobs?limit=1&cursor=a+b&queue=mail",
    ]


def test_a_search_that_finds_little_goes_on_and_adds_up_what_it_looked_at(scripted: str) -> None:
    Script.answers[:] = [
        (200, {}, b'{"items": [], "total": null, "searched": 5000, "of": 7000, "next": "a"}'),
        (200, {}, b'{"items": [1], "total": null, "searched": 2000, "of": 7000, "next": null}'),
    ]

    with ApiClient(scripted) as client:
        page = client.listed("jobs", limit=50, state=("dead", "ready"))

    assert page == {"items": [1], "total": None, "searched": 7000, "of": 7000, "next": None}
    assert Script.seen[0][1] == "/prefix/api/jobs?limit=50&state=dead&state=ready"


def test_what_comes_from_elsewhere_cannot_steer_the_terminal_or_the_path() -> None:
    assert printable("a\x1b[2Jb\nc") == "a�[2Jb�c"
    assert segment("../x?y#z") == "..%2Fx%3Fy%23z"
