"""An installation with one of everything, and a visitor who finds the way to each page and form by its links."""

import html
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import httpx
from msgspec.structs import replace

from leaseforge import attempts, exchanges, operations
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome
from leaseforge.store import Store
from leaseforge.trace_context import is_tracestate
from leaseforge.workers import WorkerState
from leaseforge_auth import calls
from leaseforge_auth.roles import Role
from tests.api.support import NUMBERS, RUN_ID, settle, worker_report
from tests.console.browsing import Visitor
from tests.support.planting import planted

MOST_PAGES = 400
MOST_JOBS = 14
"""Jobs of every state are looked at; of everything else one is like the other."""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Texts:
    """What producers and workers write, where they may."""

    type: str = "send_email"
    payload: Any = field(default_factory=lambda: {"to": "ada", "password": "of nobody"})
    result: bytes = b'{"sent": true}'
    progress: str = "half of it"
    log: str = "on the way"
    tracestate: str = "shop=1"
    tag: str = "eu"
    unique_key: str = "invoice"
    producer: str = "checkout"
    error_kind: str = "GatewayTimeout"
    error: str = "no answer"
    worker_id: str = "w/1"
    host: str = "node-1"
    version: str = "1.0"


async def furnish(store: Store, texts: Texts = Texts()) -> None:
    """Jobs in every state, queues that run and are paused, workers, people with sessions."""

    async def add(queue: str, number: int = 0, **fields: Any) -> None:
        job = planted(
            texts.payload,
            type=texts.type,
            queue=queue,
            tags=(texts.tag,) if texts.tag else (),
            unique_key=f"{texts.unique_key}{queue}{number}"[:200],
            created_by=texts.producer,
            traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            tracestate=texts.tracestate if is_tracestate(texts.tracestate) else None,
            **fields,
        )
        await store.run(job)

    endings: list[tuple[str, dict[str, Any]]] = [
        ("dead", {"outcome": Outcome.FAIL, "max_attempts": 1}),
        ("retrying", {"outcome": Outcome.FAIL, "max_attempts": 9, "delay_ms": 3_600_000}),
        ("completed", {"outcome": Outcome.COMPLETE, "result": texts.result}),
        ("running", {}),
    ]
    for queue, settlement in endings:
        await add(queue)
        call = exchanges.exchange(queue, run_id=RUN_ID, number=next(NUMBERS), lease_ms=600_000, want=1)
        [claimed] = (await store.run(call)).claimed
        told = attempts.progress(queue, claimed.id, claimed.token, percent=50, note=texts.progress)
        lines = attempts.log(queue, claimed.id, claimed.token, first=1, lines=[texts.log, texts.log])
        assert await store.run(told) is Answer.OK
        assert await store.run(lines) is Answer.OK
        if settlement:
            outcome = settlement.pop("outcome")
            failure = {"error_kind": texts.error_kind, "error_message": texts.error, "traceback": texts.error}
            await settle(store, claimed, outcome, **(failure if outcome is Outcome.FAIL else {}), **settlement)
    for number in range(2):
        await add("ready", number)
        await add("scheduled", number, delay_ms=3_600_000)
    await add("swept")
    await add("held")
    await store.run(operations.pause("held"))
    for name, state in ((texts.worker_id, WorkerState.RUNNING), (f"{texts.worker_id}2", WorkerState.QUIET)):
        report = replace(
            worker_report(name),
            host=texts.host,
            queues=("ready", "held"),
            version=texts.version,
            types=(texts.type,),
            state=state,
            ttl_ms=600_000,
        )
        await store.run(exchanges.register_worker(report))
    for name in ("dora", "dan"):
        await store.run(calls.create_account(name, password_hash="x", roles=[Role.VIEWER], origin="api"))
    await store.run(calls.change_account("dan", disabled=True))


@dataclass
class Form:
    """A form that posts, with what a browser would send if nothing were touched."""

    action: str
    page: str
    fields: dict[str, str] = field(default_factory=dict)
    blank: set[str] = field(default_factory=set)


class _Reader(HTMLParser):
    """The links and posting forms of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.links: list[str] = []
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._asks: list[Form] = []
        self._select = self._area = ""

    def led_to(self) -> list[str]:
        """Addresses of links, and of forms that only ask."""
        return self.links + [f"{form.action}?{urlencode(form.fields)}" for form in self._asks]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = {name: value or "" for name, value in attrs}
        if tag == "a" and at.get("href", "").startswith("/console"):
            self.links.append(at["href"].partition("#")[0])
        elif tag == "form":
            self._form = Form(at.get("action", ""), self.page)
            if at.get("method") == "post":
                self.forms.append(self._form)
            elif at.get("role") != "search":
                self._asks.append(self._form)
        elif self._form is None:
            return
        elif tag == "input" and at.get("name"):
            if at.get("type") in ("checkbox", "radio"):
                if "checked" in at or at["type"] == "radio":
                    self._form.fields.setdefault(at["name"], at.get("value", "on"))
            else:
                self._form.fields[at["name"]] = at.get("value", "")
                if not at.get("value") and at.get("type") != "hidden":
                    self._form.blank.add(at["name"])
        elif tag == "button" and at.get("name"):
            self._form.fields.setdefault(at["name"], at.get("value", ""))
        elif tag == "select":
            self._select = at["name"]
        elif tag == "option" and self._select and ("selected" in at or self._select not in self._form.fields):
            self._form.fields[self._select] = at.get("value", "")
        elif tag == "textarea":
            self._area = at["name"]
            self._form.fields[self._area] = ""

    def handle_data(self, data: str) -> None:
        if self._area and self._form:
            self._form.fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._area = ""


def read(page: str, text: str) -> tuple[list[str], list[Form]]:
    """The links and forms of a page."""
    reader = _Reader(page)
    reader.feed(text)
    return reader.led_to(), reader.forms


def shape(path: str) -> str:
    """Addresses that differ only in ids lead to the same kind of page."""
    return re.sub(r"[0-9a-f]{16,}", "*", _ID.sub("*", html.unescape(path)))


async def walk(visitor: Visitor, *, near: str = "") -> AsyncIterator[tuple[str, httpx.Response]]:
    """Every page that links lead to from the Overview, with its text; those whose address is like `near` first."""
    waiting = {"/console": None}
    kinds: dict[str, int] = {}
    for _ in range(MOST_PAGES):
        if not waiting:
            return
        path = max(waiting, key=lambda known: _alike(known, near)) if near else next(iter(waiting))
        del waiting[path]
        answer = await visitor.get(path)
        if answer.status_code == 303:
            continue
        yield path, answer
        links, _ = read(path, answer.text)
        for link in links:
            kind = shape(link)
            if (
                link not in waiting
                and kinds.get(kind, 0) < (MOST_JOBS if "/jobs/*" in kind or "/operations/*" in kind else 1)
                and "/export" not in link
                and "/live/" not in link
            ):
                kinds[kind] = kinds.get(kind, 0) + 1
                waiting[link] = None
    raise AssertionError(f"more than {MOST_PAGES} kinds of pages")


def _alike(path: str, near: str) -> int:
    return next((place for place, (one, other) in enumerate(zip(path, near, strict=False)) if one != other), len(near))
