"""Whatever producers and workers write is shown, never obeyed: on every page a visitor finds, and in every stream."""

import html
import json
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import pytest
from litestar import Litestar

from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.console.browsing import Visitor
from tests.console.furnished import Texts, furnish, walk
from tests.console.test_stream import opened

CORPUS = {
    "script": "<script>alert(1)</script>",
    "event": '"><img src=x onerror=alert(1)><svg onload=alert(1)>',
    "quotes": "' autofocus onfocus='alert(1)' x='",
    "template": "{{ 7 * 7 }}{% raw %}${7*7}#{7}",
    "partial": "<hx-partial hx-target='#main'>gone</hx-partial>",
    "closing": "</pre></td></section></main><h1>taken over</h1><!--",
    "address": "javascript:alert(1)//..%2f../\\",
    "path": "../../a/b+c%d?e=1#f&g;h",
    "direction": "\u202egnp.exe\u2066\u200f",
    "emoji": "😀👩‍👩‍👧‍👧🏳️‍🌈",
    "long": "W" * 120,
}
_ALLOWED_SCRIPT_SOURCE = "/static/"


class _Judge(HTMLParser):
    """Reports elements and attributes that no template of ours writes."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = {name: value or "" for name, value in attrs}
        if tag in ("img", "iframe", "object", "embed", "base", "style"):
            self.problems.append(f"<{tag}>")
        if tag == "script" and not at.get("src", "").startswith(_ALLOWED_SCRIPT_SOURCE):
            self.problems.append("a script of nobody's")
        if tag == "hx-partial" and at.get("hx-target") == "#main":
            self.problems.append("a partial of nobody's")
        for name, value in at.items():
            if name.startswith("on") or name == "style":
                self.problems.append(f"{name} on <{tag}>")
            elif (
                name in ("href", "src", "action") and not value.startswith(("/", "#", "http://", "https://")) and value
            ):
                self.problems.append(f"{name}={value}")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "h1" and data == "taken over":
            self.problems.append("a heading of nobody's")


def problems(text: str) -> list[str]:
    judge = _Judge()
    judge.feed(text)
    return judge.problems


@pytest.mark.parametrize(
    "planted",
    [
        "<img src=x>",
        "<p onclick=x>",
        "<script>alert(1)</script>",
        "<a href='javascript:x'>",
        "<h1>taken over</h1>",
        "<hx-partial hx-target='#main'>",
        "<p style='x'>",
    ],
)
def test_what_is_planted_is_found(planted: str) -> None:
    assert problems(planted)


def hostile(text: str) -> Texts:
    return Texts(
        type=text[:100],
        payload={text: [text, {text: text}], "password": text},
        result=json.dumps({text: [text]}).encode(),
        progress=text,
        log=f"{text}\n{text}",
        tracestate=f"shop={text}",
        tag=text[:30],
        unique_key=text[:100],
        producer=text[:60],
        error_kind=text[:100],
        error=f"{text} {text}",
        worker_id=text.replace("\\", "/")[:60],
        host=text[:60],
        version=text[:20],
    )


async def act(visitor: Visitor, text: str) -> None:
    """What people write: reasons, names of views, what they look for. A text that cannot be is refused, not broken."""
    sent = [
        await visitor.post("/console/queues/ready/pause", reason=text),
        await visitor.post("/console/views", list="jobs", name=text[:60], type="send_email"),
        await visitor.post("/console/operations", list="jobs", action="cancel", queue="swept", all="1"),
    ]
    operation = sent[-1].headers["location"]
    sent.append(await visitor.post(f"{operation}/run", known="", reason=text))
    assert {answer.status_code for answer in sent} <= {303, 422}, [answer.status_code for answer in sent]
    assert [answer.status_code for answer in sent[2:]] == [303, 303]
    for path in ("/console/jobs", "/console/dead/jobs", "/console/audit", "/console/find"):
        for name in ("type", "text", "tag", "user", "q"):
            answer = await visitor.get(f"{path}?{urlencode({name: text})}")
            assert answer.status_code < 500, (path, name)
            assert not problems(answer.text), (path, name)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "script" else pytest.mark.soak) for name in CORPUS]
)
async def test_every_page_and_stream_shows_it_and_obeys_nothing(
    name: str, visit: Callable[[Role], Any], store: Store, app: Litestar
) -> None:
    text = CORPUS[name]
    visitor: Visitor = await visit(Role.ADMIN)
    await furnish(store, hostile(text))
    await visitor.get("/console/queues/ready/pause")
    await act(visitor, text)

    streams: set[str] = set()
    pages = 0
    async for path, answer in walk(visitor):
        assert answer.status_code == 200, f"{path} answered {answer.status_code}"
        if not answer.headers["content-type"].startswith("text/html"):
            # A download: browsers are told to keep it, and not to guess what it is. The description of the API is ours.
            kept = answer.headers.get("content-disposition", "").startswith("attachment")
            assert kept or path == "/console/api/openapi.json", path
            assert answer.headers["x-content-type-options"] == "nosniff", path
            continue
        assert not problems(answer.text), f"{path}: {problems(answer.text)}"
        assert len(answer.content) < 250_000, path
        pages += 1
        if 'hx-sse:connect="' in answer.text:
            streams.add(html.unescape(answer.text.split('hx-sse:connect="')[1].split('"')[0]))
    kinds = {stream.partition("?")[0].rsplit("/", 1)[0]: stream for stream in streams}
    for stream in kinds.values():
        live = opened(visitor, app, stream)
        sent = await live.wait_for("event: (beat|gone)")
        assert not problems(sent), f"{stream}: {problems(sent)}"
        await live.close()
    assert pages > 25
