"""The API as commands use it: one connection, repeats that are safe, every refusal as one line."""

import http.client
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from leaseforge_cli.exits import CommandFailed, ExitCode
from leaseforge_cli.logins import Door

TIMEOUT_S = 30.0
TRIES = 3
MAX_PAUSE_S = 5.0
# A proxy's own words for a server that has just gone, beside the server's for a Redis that has.
_AWAY = (http.HTTPStatus.BAD_GATEWAY, http.HTTPStatus.SERVICE_UNAVAILABLE, http.HTTPStatus.GATEWAY_TIMEOUT)
MAX_ANSWER_BYTES = 64 * 1024 * 1024
PAGE = 100
MAX_PAGES = 200

_CODES: Mapping[int, ExitCode] = {
    401: ExitCode.NOT_LOGGED_IN,
    403: ExitCode.NOT_PERMITTED,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.CONFLICT,
    422: ExitCode.CONFLICT,
    429: ExitCode.API_UNAVAILABLE,
    502: ExitCode.API_UNAVAILABLE,
    503: ExitCode.API_UNAVAILABLE,
    504: ExitCode.API_UNAVAILABLE,
}


class Unreachable(CommandFailed):
    """No answer came; whether the request was carried out is unknown."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"no answer from {url}: {reason}", ExitCode.API_UNAVAILABLE)


class Refused(CommandFailed):
    """The server answered with a problem. `kind` is the end of its type, such as `queue-not-found`."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        problem = _problem(body)
        self.status = status
        self.kind = str(problem.get("type", "")).rpartition(":")[2] or str(status)
        self.retry_after_s = _seconds(headers.get("retry-after"))
        said = str(problem.get("detail") or problem.get("title") or http.client.responses.get(status, "refused"))
        request_id = problem.get("request_id") or headers.get("x-request-id") or "-"
        hint = ": leaseforge login" if status == http.HTTPStatus.UNAUTHORIZED else ""
        line = printable(f"{said}{hint} ({status} {self.kind}, request {request_id})")
        super().__init__(line, _CODES.get(status, ExitCode.FAILED))


class Answer(msgspec.Struct, frozen=True):
    """What the server said: status, headers by lower-case name, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body's value. Raises CommandFailed if it is no JSON: something else than our server answered."""
        try:
            return msgspec.json.decode(self.body) if self.body else None
        except msgspec.DecodeError as error:
            raise CommandFailed(f"what answers there is no Leaseforge server: {error}") from error


class ApiClient:
    """One connection that is kept open. Not for several threads. `on_repeat` hears of each request sent again."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        tries: int = TRIES,
        on_repeat: Callable[[], None] = lambda: None,
    ) -> None:
        parts = urlsplit(url)
        self._on_repeat = on_repeat
        self.url = url
        self._prefix = parts.path
        self._tries = tries
        self._headers = {"Accept": "application/json", "User-Agent": "leaseforge"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        host, port = parts.hostname or "", parts.port
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context()
            self._connection = http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context)
        else:
            self._connection = http.client.HTTPConnection(host, port, timeout=timeout_s)

    @classmethod
    def at(cls, door: Door) -> Self:
        """A client for a server and a token."""
        return cls(door.url, door.token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, path: str, **query: Any) -> Any:
        """The JSON that is there. Parts of the query that are None are left out, a tuple's values each sent."""
        return self.send("GET", path, query=query).json()

    def post(self, path: str, body: Any = None, *, key: str | None = None, **query: Any) -> Any:
        """What the server answers to this. `key` is the Idempotency-Key of routes that are not safe to repeat."""
        return self.send("POST", path, body={} if body is None else body, key=key, query=query).json()

    def delete(self, path: str, **query: Any) -> None:
        """Removes what is there."""
        self.send("DELETE", path, query=query)

    def listed(self, path: str, *, limit: int, **query: Any) -> dict[str, Any]:
        """The first `limit` items of a list, page after page, as one page.

        A search that finds little is given up after 200 pages (a million records); `next` then leads on.
        """
        page: dict[str, Any] = {}
        items: list[Any] = []
        searched = 0
        for _ in range(MAX_PAGES):
            page = self.get(path, limit=min(PAGE, limit - len(items)), cursor=page.get("next"), **query)
            items += page["items"]
            searched += page.get("searched") or 0
            if page.get("next") is None or len(items) >= limit:
                break
        return {**page, "items": items} | ({"searched": searched} if "searched" in page else {})

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        key: str | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Answer:
        """One request, sent again when no answer came or the server asks for patience: all our requests allow it.

        Bytes are sent as they are, anything else as JSON. Raises Refused and Unreachable.
        """
        given = {name: value for name, value in (query or {}).items() if value not in (None, ())}
        target = f"{self._prefix}/api/{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")
        headers = dict(self._headers)
        content: bytes | None = None
        if body is not None:
            content = body if isinstance(body, bytes) else msgspec.json.encode(body)
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        for pause_s in self._pauses():
            try:
                return self.once(method, target, content, headers)
            except Unreachable:
                if pause_s is None:
                    raise
            except Refused as refused:
                if pause_s is None or refused.status not in _AWAY:
                    raise
                pause_s = max(pause_s, min(refused.retry_after_s, MAX_PAUSE_S))
            time.sleep(pause_s)
            self._on_repeat()
        raise AssertionError("the last try answers or raises")

    def once(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]) -> Answer:
        """One request, sent once. Raises Refused and Unreachable."""
        was_open = self._connection.sock is not None
        try:
            status, received, body = self._exchange(method, target, content, headers)
        except ssl.SSLError as error:
            self._connection.close()
            raise CommandFailed(f"no secure connection to {self.url}: {error}", ExitCode.API_UNAVAILABLE) from error
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            if was_open and isinstance(error, ConnectionError):
                # A server closes connections nobody uses; that one of ours was among them is no failure.
                return self.once(method, target, content, headers)
            raise Unreachable(self.url, str(error) or type(error).__name__) from error
        if len(body) > MAX_ANSWER_BYTES:
            self._connection.close()
            raise CommandFailed(f"the answer is larger than {MAX_ANSWER_BYTES:,} bytes")
        if not http.HTTPStatus.OK <= status < http.HTTPStatus.MULTIPLE_CHOICES:
            raise Refused(status, received, body)
        return Answer(status, received, body)

    def _exchange(
        self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        self._connection.request(method, target, content, dict(headers))
        response = self._connection.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        return response.status, received, response.read(MAX_ANSWER_BYTES + 1)

    def _pauses(self) -> Iterator[float | None]:
        """Before each further try; None: this one is the last."""
        yield from (min(0.2 * 2**number, MAX_PAUSE_S) for number in range(self._tries - 1))
        yield None


def segment(text: str) -> str:
    """A part of a path that comes from a person: nothing in it is taken for a separator."""
    return quote(text, safe="")


def printable(text: str) -> str:
    """One line without control characters: what came from elsewhere must not steer the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _problem(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isdecimal() else 0.0
