import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from litestar import Litestar

from leaseforge import operations
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth import calls, session_calls
from leaseforge_auth.roles import Role
from leaseforge_auth.session_calls import public_id
from leaseforge_console.live import MAX_STREAMS_PER_USER, Live
from leaseforge_console.stream import event
from tests.api.support import kill_job
from tests.console.browsing import Visitor
from tests.support import eventually


class Stream:
    """A stream of updates, read straight from the application while it stays open."""

    def __init__(self, app: Litestar, path: str, cookie: str, *, is_gone: bool = False) -> None:
        self.status = 0
        self.content_type = ""
        self.text = ""
        self._is_complete = False
        self._news = asyncio.Event()
        self._leave = asyncio.Event()
        if is_gone:  # before the server has answered
            self._leave.set()
        self._running = asyncio.create_task(self._run(app, path, cookie))

    async def _run(self, app: Litestar, path: str, cookie: str) -> None:
        path, _, query = path.partition("?")
        scope: Any = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "scheme": "http",
            "http_version": "1.1",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1),
            "headers": [
                (b"host", b"127.0.0.1"),
                (b"cookie", f"leaseforge={cookie}".encode()),
                (b"hx-request", b"true"),
            ],
            "asgi": {"version": "3.0"},
            "state": {},
            "extensions": {},
        }
        asked = False

        async def receive() -> Any:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await self._leave.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                self.content_type = dict(message["headers"]).get(b"content-type", b"").decode()
            else:
                self.text += message.get("body", b"").decode()
                self._is_complete = not message.get("more_body", False)
            self._news.set()

        await app(scope, receive, send)

    async def wait_for(self, pattern: str) -> str:
        """What has arrived once the pattern is in it."""
        async with asyncio.timeout(10):
            while not re.search(pattern, self.text, re.DOTALL):
                self._news.clear()
                await self._news.wait()
        return self.text

    async def answered(self) -> None:
        """Waits until the server has begun to answer."""
        async with asyncio.timeout(10):
            while not self.status:
                self._news.clear()
                await self._news.wait()

    async def ended(self) -> None:
        """Waits until the server has ended it."""
        async with asyncio.timeout(10):
            while not self._is_complete:
                self._news.clear()
                await self._news.wait()
        await self.close()

    async def close(self) -> None:
        self._leave.set()
        async with asyncio.timeout(10):
            await self._running


def opened(visitor: Visitor, app: Litestar, path: str) -> Stream:
    return Stream(app, path, visitor.client.cookies["leaseforge"])


async def test_a_stream_begins_with_the_page_as_it_is_and_tells_its_age(
    operator: Visitor, store: Store, app: Litestar
) -> None:
    await store.run(operations.enqueue(new_job("echo", queue="mail")))
    stream = opened(operator, app, "/console/live/queues")

    text = await stream.wait_for(r"event: beat\ndata: .*\n")

    assert stream.status == 200
    assert stream.content_type.startswith("text/event-stream")
    assert '<hx-partial hx-target="#queues"' in text
    beat = re.search(r"event: beat\ndata: (.*)\n", text)
    assert beat is not None
    assert 0 <= json.loads(beat[1])["age_ms"] < 10_000
    await stream.close()


async def test_only_the_parts_that_changed_are_sent_again(operator: Visitor, store: Store, app: Litestar) -> None:
    await store.run(operations.enqueue(new_job("echo", queue="mail", delay_ms=60_000)))
    stream = opened(operator, app, "/console/live/queues")
    await stream.wait_for("event: beat")
    assert "#rail-items" in stream.text
    stream.text = ""

    await operator.get("/console/queues")
    await operator.post("/console/queues/mail/pause")

    text = await stream.wait_for("paused.*event: beat")
    assert '#queues"' in text
    await stream.close()


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/console/live/overview?seconds=3600", "#notices"),
        ("/console/live/queues/default?state=dead&offset=0", "#jobs"),
        ("/console/live/jobs/{job}", "#job-head"),
        ("/console/live/workers", "#workers"),
    ],
)
async def test_every_page_has_its_stream(operator: Visitor, store: Store, app: Litestar, path: str, part: str) -> None:
    job_id = await kill_job(store)
    stream = opened(operator, app, path.format(job=job_id))

    text = await stream.wait_for("event: beat")

    assert f'<hx-partial hx-target="{part}" hx-swap="innerMorph">' in text
    await stream.close()


async def test_the_stream_of_a_job_that_is_gone_says_so_and_ends(
    operator: Visitor, store: Store, app: Litestar
) -> None:
    job_id = await kill_job(store)
    stream = opened(operator, app, f"/console/live/jobs/{job_id}")
    await stream.wait_for("event: beat")

    await operator.get(f"/console/jobs/{job_id}")
    await operator.post(f"/console/jobs/{job_id}/delete")

    await stream.wait_for("event: gone")
    await stream.close()


async def test_a_stream_shows_each_role_what_it_may_see(
    visit: Callable[[Role], Any], store: Store, app: Litestar
) -> None:
    job_id = await kill_job(store)
    viewer: Visitor = await visit(Role.VIEWER)
    stream = opened(viewer, app, f"/console/live/jobs/{job_id}")

    text = await stream.wait_for("event: beat")

    assert "/retry" not in text
    assert "may not read payloads" in text
    await stream.close()


async def test_no_stream_without_a_session(stranger: Visitor) -> None:
    answer = await stranger.get("/console/live/queues", htmx=True)

    assert answer.status_code == 401
    assert answer.headers["hx-redirect"] == "/console/login"


def test_an_event_keeps_its_lines_apart() -> None:
    assert event("one\ntwo", name="beat") == b"event: beat\ndata: one\ndata: two\n\n"
    assert event("a\u2028b\x85c") == "data: a\u2028b\x85c\n\n".encode()
    assert event(comment="still here") == b": still here\n\n"


ENDINGS: dict[str, Callable[[Store, str], Any]] = {
    "session ended": lambda store, sid: store.run(session_calls.revoke_session("operator", public_id(sid))),
    "disabled": lambda store, _: store.run(calls.change_account("operator", disabled=True)),
    "other roles": lambda store, _: store.run(calls.change_account("operator", roles=[Role.VIEWER])),
    "other password": lambda store, _: store.run(calls.change_account("operator", password_hash="$other")),
    "deleted": lambda store, _: store.run(calls.delete_account("operator")),
}


@pytest.mark.parametrize("path", ["/console/live/queues", "/console/live/still?section=account"])
@pytest.mark.parametrize("ending", ENDINGS)
async def test_the_open_streams_of_a_session_that_was_ended_end_and_are_refused(
    operator: Visitor, store: Store, app: Litestar, ending: str, path: str
) -> None:
    stream = opened(operator, app, path)
    await stream.wait_for("event: beat")

    await ENDINGS[ending](store, operator.client.cookies["leaseforge"])
    app.state.live.nudge()

    await stream.ended()
    assert (await operator.get(path, htmx=True)).status_code == 401


async def test_whose_session_has_ended_is_asked_once_for_all_tabs(
    operator: Visitor, store: Store, app: Litestar, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    ended = app.state.live._sessions_ended

    async def count(sessions: Sequence[str]) -> frozenset[str]:
        asked.append(len(sessions))
        return cast("frozenset[str]", await ended(sessions))

    monkeypatch.setattr(app.state.live, "_sessions_ended", count)
    streams = [opened(operator, app, "/console/live/queues") for _ in range(20)]
    for stream in streams:
        await stream.wait_for("event: beat")

    assert asked
    assert set(asked) == {1}
    assert len(asked) < 10
    for stream in streams:
        await stream.close()


async def test_of_eighty_tabs_that_are_opened_at_once_sixty_have_a_stream(
    operator: Visitor, store: Store, app: Litestar
) -> None:
    live: Live = app.state.live
    streams = [opened(operator, app, f"/console/live/{page}") for page in ("queues", "workers") for _ in range(40)]
    await asyncio.gather(*(stream.answered() for stream in streams))

    assert Counter(stream.status for stream in streams) == {200: MAX_STREAMS_PER_USER, 503: 80 - MAX_STREAMS_PER_USER}
    assert live.streams_of("operator") == MAX_STREAMS_PER_USER
    await asyncio.gather(*(stream.close() for stream in streams))
    await eventually(lambda: live.streams_of("operator") == live.topics == 0)


async def test_who_is_gone_before_the_first_byte_leaves_no_place_taken(
    operator: Visitor, store: Store, app: Litestar
) -> None:
    live: Live = app.state.live
    cookie = operator.client.cookies["leaseforge"]
    gone = [Stream(app, "/console/live/queues", cookie, is_gone=True) for _ in range(80)]
    await asyncio.gather(*(stream.close() for stream in gone))

    await eventually(lambda: live.streams_of("operator") == live.topics == 0)
    stream = opened(operator, app, "/console/live/queues")
    await stream.wait_for("event: beat")
    await stream.close()
