"""Every form of the console sent twice with the same content: the second time nothing happens any more.

The routes are those the application declares, the forms are found by following links: one that is new is tried
without anybody thinking of it.
"""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import httpx
import pytest
import redis
from litestar import Litestar

from leaseforge import operations
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.roles import Role
from leaseforge_console.views.queue_limits import SETTINGS
from tests.api.test_routes import ROUTES, Route
from tests.console.browsing import Visitor, words
from tests.console.conftest import PASSWORD, PASSWORD_HASH
from tests.console.furnished import Form, furnish, read, walk
from tests.support import eventually

POSTS = {route.template: route for route in ROUTES if route.is_console and route.method == "POST"}
WITHOUT = {"/console/login": "whoever logs in twice has two sessions"}
"""Routes that are not tried, with the reason."""
CHANGE_NOTHING = {
    "/console/theme": "a cookie",
    "/console/keys": "a cookie",
    "/console/jobs/{job_id}/edit": "shows what would change",
    "/console/jobs/{job_id}/reveal": "shows, and is written down each time",
}
TYPED: Mapping[str, str] = {
    "username": "newcomer",
    "current": PASSWORD,
    "new": "another horse battery",
    "again": "another horse battery",
    "name": "some-name",
    "type": "echo",
    "queue": "ready",
    "reason": "because",
    "lifetime": "3600",
}
CHOSEN: Mapping[str, dict[str, str]] = {
    "/console/account/tokens/new": {"role": "viewer"},
    "/console/new-user": {"roles": "viewer"},
    "/console/users/{username}/roles": {"roles": "operator"},
    "/console/jobs/new": {"payload": "{}"},
    "/console/views/{view_id}/rename": {"name": "another name"},
}
MADE: Sequence[tuple[str, str, dict[str, str]]] = (
    ("/console/account/tokens/new", "/console/account/tokens/new", {"name": "there-already"}),
    ("/console/jobs?type=send_email", "/console/views", {"name": "there already"}),
    ("/console/operations/new?action=cancel&queue=held", "/console/operations", {}),
)
"""What is made by forms before the walk, so that it finds the pages of it: page, route, fields."""
ASKED = (
    "/console/operations/new?action=retry&queue=dead",
    "/console/jobs?type=echo",
    "/console/queues/ready/settings/review?max_running=7",
)
"""Pages that no link leads to: they answer forms that ask."""
# Written with every action or by the clock, whatever is asked for.
IGNORED = re.compile(r"audit|stats|attempts|office|bulk-alive|\{(?!sys\})[^}]*\}:bulk:|:bulk:.*:")


def stored(redis_url: str) -> dict[str, Any]:
    """All there is, but what is written about requests and by the clock; read: a dump has its table's order."""
    with redis.Redis.from_url(redis_url) as raw:
        names = sorted(name for each in raw.scan_iter(count=1000) if not IGNORED.search(name := each.decode()))
        pipeline = raw.pipeline(transaction=False)
        for name in names:
            pipeline.type(name)
        kinds = pipeline.execute()
        for name, kind in zip(names, kinds, strict=True):
            if name.endswith(":meta"):  # of a queue's record only what people set: the rest counts time
                pipeline.hmget(name, "paused", *(setting.name for setting in SETTINGS))
            elif ":bulk:" in name:  # what people do with an operation: how far it is it writes by itself
                pipeline.hmget(name, "run", "run_by", "ended_by")
            elif ":command:" in name:  # the word that stands: told again what it was told, a worker does nothing else
                pipeline.getrange(name, 16, -1)
            else:
                _READ[kind](pipeline, name)
        found = {name: value for name, value in zip(names, pipeline.execute(), strict=True) if value}
    return {name: value for name, value in found.items() if ":session:" not in name or _stands(found, value)}


def _stands(found: Mapping[str, Any], session: dict[bytes, bytes]) -> bool:
    """Whether a session has not ended; one that has is swept at its next request. When it was seen is left out."""
    session.pop(b"seen_at")
    ends = f":account:{session[b'username'].decode()}"
    account: dict[bytes, bytes] = next((value for name, value in found.items() if name.endswith(ends)), {})
    return account.get(b"epoch") == session[b"epoch"]


_READ: Mapping[bytes, Callable[[Any, str], Any]] = {
    b"string": lambda raw, name: raw.get(name),
    b"hash": lambda raw, name: raw.hgetall(name),
    b"zset": lambda raw, name: raw.zrange(name, 0, -1, withscores=True),
    b"set": lambda raw, name: raw.smembers(name),
    b"list": lambda raw, name: raw.lrange(name, 0, -1),
    b"stream": lambda raw, name: raw.xrange(name),
    b"none": lambda raw, name: raw.exists(name),
}


async def settled(redis_url: str) -> dict[str, Any]:
    """The same once nothing moves any more: bulk operations run by themselves."""
    seen: list[dict[str, Any]] = []

    def still() -> bool:
        with redis.Redis.from_url(redis_url) as raw:
            operations = [raw.hget(name, "state") for name in raw.scan_iter("*{sys}:bulk:*", _type="hash")]
        seen.append(stored(redis_url))
        return len(seen) > 1 and seen[-1] == seen[-2] and not {b"running", b"collecting"} & set(operations)

    await eventually(still, within_s=30, every_s=0.04)
    return seen[-1]


def changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What differs, before and after."""
    names = one.keys() | other.keys()
    return {name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)}


@dataclass
class Installation:
    """One of everything as it was when its forms were read: each test begins with this."""

    forms: dict[str, Form] = field(default_factory=dict)
    stored: list[tuple[bytes, int, bytes]] = field(default_factory=list)
    cookies: dict[str, str] = field(default_factory=dict)

    def take_forms(self, path: str, text: str) -> None:
        """Keeps the first form for each route. What somebody does to his own account he does on its page."""
        word = re.search(r"Type (?:<b>)?([\w.-]+)(?:</b>)? to confirm", text)
        typed = {**TYPED, "word": word[1] if word else ""}
        for form in read(path, text)[1]:
            action = form.action.partition("?")[0]
            found = [template for template in POSTS if _pattern(template).fullmatch(action)]
            # An address without a parameter is the nearer one.
            template = min(found, key=lambda each: each.count("{"), default=None)
            if template is None or template in self.forms or action.startswith("/console/users/root/"):
                continue
            form.fields |= {name: typed[name] for name in form.blank & typed.keys()} | CHOSEN.get(template, {})
            self.forms[template] = form

    def remember(self, redis_url: str, visitor: Visitor) -> None:
        """Takes everything that is stored."""
        self.cookies = dict(visitor.client.cookies)
        with redis.Redis.from_url(redis_url) as raw:
            names = list(raw.scan_iter(count=1000))
            kept = [(name, max(raw.pttl(name), 0), raw.dump(name)) for name in names]
        self.stored = [(name, ttl, dump) for name, ttl, dump in kept if dump is not None]

    def put_back(self, redis_url: str) -> None:
        """Stores everything again."""
        with redis.Redis.from_url(redis_url) as raw:
            pipeline = raw.pipeline()
            pipeline.flushdb()
            for name, ttl, dump in self.stored:
                pipeline.restore(name, ttl, dump)
            pipeline.execute()


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{[^}]+\\\}", "[^/]+", re.escape(template)))


@asynccontextmanager
async def browser(app: Litestar, cookies: Mapping[str, str] = {}) -> AsyncIterator[Visitor]:
    transport = httpx.ASGITransport(app=cast(Any, app), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", cookies=dict(cookies)) as client:
        yield Visitor(client)


@pytest.fixture(scope="module")
async def installation(store: Store, app: Litestar, redis_url: str) -> Installation:
    """Furnished, with an administrator who has two sessions, a token, a saved view, and operations at every stage."""
    made = Installation()
    for name in ("root", "vera"):
        role = Role.ADMIN if name == "root" else Role.VIEWER
        await store.run(calls.create_account(name, password_hash=PASSWORD_HASH, roles=[role], origin="api"))
    await furnish(store)
    async with browser(app) as another, browser(app) as elsewhere, browser(app) as visitor:
        for each, name in ((another, "vera"), (elsewhere, "root"), (visitor, "root")):
            answer = await each.post("/console/login", username=name, password=PASSWORD)
            assert answer.status_code == 303
        for page, template, fields in MADE:
            at = Installation()
            at.take_forms(page, (await visitor.get(page)).text)
            form = at.forms[template]
            assert (await visitor.post(form.action, form.fields | fields)).status_code < 400, form
        for page in ASKED:
            answer = await visitor.get(page)
            assert answer.status_code == 200, (page, words(answer.text))
            made.take_forms(page, answer.text)
        async for path, answer in walk(visitor):
            made.take_forms(path, answer.text)
        edit = made.forms["/console/jobs/{job_id}/edit"]
        made.take_forms(edit.action, (await visitor.post(edit.action, edit.fields)).text)
        await _add_paused_operation(made, store, visitor)
        made.remember(redis_url, visitor)
    return made


async def _add_paused_operation(made: Installation, store: Store, visitor: Visitor) -> None:
    """An operation that has begun and will not end by itself; with the forms of when it ran and when it stands."""
    for _ in range(40):
        await store.run(operations.enqueue(new_job("echo", queue="later", delay_ms=3_600_000)))
    new, running = Installation(), Installation()
    page = "/console/operations/new?action=promote&list=delayed&queue=later"
    new.take_forms(page, (await visitor.get(page)).text)
    form = new.forms["/console/operations"]
    page = (await visitor.post(form.action, form.fields)).headers["location"]
    running.take_forms(page, (await visitor.get(page)).text)
    form = running.forms["/console/operations/{operation_id}/run"]
    assert (await visitor.post(form.action, form.fields | {"rate": "1"})).status_code == 303
    running.take_forms(page, (await visitor.get(page)).text)
    made.forms["/console/operations/{operation_id}/pause"] = pause = running.forms[
        "/console/operations/{operation_id}/pause"
    ]
    assert (await visitor.post(pause.action, pause.fields)).status_code == 303
    made.take_forms(page, (await visitor.get(f"{page}/abort")).text)
    made.forms["its run"] = replace(form, fields=form.fields | {"rate": "1"})


@pytest.mark.parametrize("route", [route for route in POSTS.values() if route.template not in WITHOUT], ids=str)
async def test_the_same_form_sent_twice_does_nothing_twice(
    route: Route, installation: Installation, app: Litestar, redis_url: str
) -> None:
    installation.put_back(redis_url)
    assert route.template in installation.forms, f"no page has a form for {route}"
    form = installation.forms[route.template]
    async with browser(app, installation.cookies) as visitor:
        if route.template.endswith("/pause") and "operation" in route.template:
            run = installation.forms["its run"]
            assert (await visitor.post(run.action, run.fields)).status_code == 303
        before = stored(redis_url)
        first = await visitor.post(form.action, form.fields)
        between = await settled(redis_url)
        second = await visitor.post(form.action, form.fields)
        after = await settled(redis_url)

    assert first.status_code < 400, (first.status_code, form)
    assert second.status_code < 500
    did = changes(before, between)
    assert bool(did) == (route.template not in CHANGE_NOTHING), f"what {form} does once: {did}"
    assert changes(between, after) == {}, f"what {form} does again"


def test_only_routes_there_are_have_an_exception() -> None:
    assert POSTS.keys() >= WITHOUT.keys() | CHANGE_NOTHING.keys() | CHOSEN.keys()
