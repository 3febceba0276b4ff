"""Every form of the console sent twice with the same content: the second time nothing happens any more.

The routes are those the application declares, the forms are found by following links: one that is new is tried
without anybody thinking of it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import redis

from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.roles import Role
from tests.api.test_routes import ROUTES, Route
from tests.console.browsing import Visitor
from tests.console.conftest import PASSWORD, PASSWORD_HASH
from tests.console.furnished import Form, furnish, read, walk
from tests.support import eventually

POSTS = [route for route in ROUTES if route.is_console and route.method == "POST"]
HAS_NO_FORM = {
    "POST /console/login",  # whoever logs in twice has two sessions
    "POST /console/operations/{operation_id}/abort",  # only while an operation runs
    "POST /console/operations/{operation_id}/pause",
    "POST /console/queues/{queue}/settings",  # stands behind a form that is filled in first
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
    "cap": "7",
}
SEEDS = {
    "/console/account/tokens/new": "/console/account/tokens/new",
    "/console/views": "/console/jobs?type=send_email",
    "/console/operations": "/console/operations/new?action=retry&queue=dead",
}
"""Where forms are that stand at the end of a form that asks."""
PREVIEWS = {"/console/jobs/{job_id}/edit/retry": "/console/jobs/{job_id}/edit"}
"""Forms that stand in the answer to another form."""
MADE_FIRST = {
    "/console/account/tokens/{": "/console/account/tokens/new",
    "/console/tokens/{": "/console/account/tokens/new",
    "/console/views/{": "/console/views",
    "/console/operations/{": "/console/operations",
}
# Written with every action or by the clock, whatever is asked for.
IGNORED = re.compile(r"audit|stats|attempts|office|bulk-alive|:command:")


def dumped(redis_url: str) -> dict[bytes, bytes]:
    """All that is stored, but what is written about requests and by the clock."""
    with redis.Redis.from_url(redis_url) as raw:
        names = sorted(name for name in raw.scan_iter(count=1000) if not IGNORED.search(name.decode()))
        # Of a queue's record only what people set: the rest counts time.
        set_by_people = {
            name: repr(raw.hmget(name, "paused", "cap", "rate", "seq")).encode()
            for name in names
            if name.endswith(b":meta")
        }
        dumps = {name: value for name in names if (value := raw.dump(name)) is not None}
        return dumps | set_by_people


async def settled(redis_url: str) -> dict[bytes, bytes]:
    """The same once nothing moves any more: bulk operations run by themselves."""
    last: list[dict[bytes, bytes]] = [{}]

    def still() -> bool:
        last.append(dumped(redis_url))
        return last[-1] == last[-2] == (last[-3] if len(last) > 2 else None)

    await eventually(still)
    return last[-1]


def pattern(route: Route) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{[^}]+\\\}", "[^/]+", re.escape(route.template)))


async def form_for(visitor: Visitor, route: Route) -> Form:
    """The form that posts to the route, filled in."""
    if seed := SEEDS.get(route.template):
        if found := filled(route, seed, (await visitor.get(seed)).text):
            return found
    elif behind := PREVIEWS.get(route.template):
        form = await form_for(visitor, route_at(behind))
        preview = await visitor.post(form.action, form.fields)
        if found := filled(route, form.action, preview.text):
            return found
    else:
        async for path, answer in walk(visitor, near=route.template.partition("{")[0]):
            if found := filled(route, path, answer.text):
                return found
    raise AssertionError(f"no page has a form for {route}")


def filled(route: Route, path: str, text: str) -> Form | None:
    """The form of a page that posts to the route."""
    wanted = pattern(route)
    for form in read(path, text)[1]:
        if wanted.fullmatch(form.action.partition("?")[0]):
            word = re.search(r"Type (?:<b>)?([\w.-]+)(?:</b>)? to confirm", text)
            typed = {**TYPED, "word": word[1] if word else ""}
            form.fields |= {name: typed[name] for name in form.blank & typed.keys()}
            if not form.fields.get("role", "no choice"):
                form.fields["role"] = "viewer"
            return form
    return None


def route_at(template: str) -> Route:
    return next(route for route in POSTS if route.template == template)


@pytest.fixture
async def admin(visit: Callable[[Role], Any], another: Callable[[], Visitor], store: Store) -> Visitor:
    """An administrator in an installation with one of everything, with a second session, a token and a saved view."""
    await store.run(calls.create_account("root", password_hash=PASSWORD_HASH, roles=[Role.ADMIN], origin="api"))
    visitor, elsewhere = another(), another()
    for browser in (visitor, elsewhere):
        answer = await browser.post("/console/login", username="root", password=PASSWORD)
        assert answer.status_code == 303
    await visit(Role.VIEWER)
    await furnish(store)
    return visitor


@pytest.mark.soak
@pytest.mark.parametrize("route", [route for route in POSTS if str(route) not in HAS_NO_FORM], ids=str)
async def test_the_same_form_sent_twice_does_nothing_twice(route: Route, admin: Visitor, redis_url: str) -> None:
    for begins, template in MADE_FIRST.items():
        if route.template.startswith(begins):
            made = await form_for(admin, route_at(template))
            assert (await admin.post(made.action, made.fields)).status_code < 400
    form = await form_for(admin, route)
    before = await settled(redis_url)

    first = await admin.post(form.action, form.fields)
    between = await settled(redis_url)
    second = await admin.post(form.action, form.fields)
    after = await settled(redis_url)

    assert first.status_code < 400, (first.status_code, form)
    assert second.status_code < 500
    changed = {name for name in after.keys() | between.keys() if after.get(name) != between.get(name)}
    # Operations go on by themselves: what counts is that there is no other one.
    changed -= {name for name in changed if b":bulk" in name and name in between}
    assert not changed, f"{form} changed {changed} again; the first changed {len(set(between) ^ set(before))} names"
