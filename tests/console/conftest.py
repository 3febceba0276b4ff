"""The server in this process, and a browser without a screen: keeps cookies, reads forms, sends what they hold."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, cast

import httpx
import pytest
import redis
from litestar import Litestar

from leaseforge.store import Store, connect
from leaseforge_api.app import create_app
from leaseforge_api.settings import ServerSettings
from leaseforge_auth import calls
from leaseforge_auth.roles import Role
from tests.console.browsing import Visitor
from tests.support import OwnServer

SECRET = "a secret of more than thirty-two bytes"
PASSWORD = "correct horse battery"
# argon2id of PASSWORD with the cheapest parameters: what is tested here is not how long hashing takes.
PASSWORD_HASH = "$argon2id$v=19$m=8,t=1,p=1$k2l2aSKXYRtsIsRStDQ/Xw$824bGughhpNGCZsxz3RS7ovp11c3S5nWh0MYYM1NJzs"


@pytest.fixture(scope="module")
def redis_url(server: OwnServer) -> str:
    """The database of a file's tests."""
    return server.clean_database()


@pytest.fixture(scope="module")
async def store(redis_url: str) -> AsyncIterator[Store]:
    connected = connect(redis_url, retry_s=1.0)
    yield connected
    await connected.aclose()


@pytest.fixture(scope="module")
def settings() -> Mapping[str, str]:
    """Settings of the server; a file of tests may have its own."""
    return {}


@pytest.fixture(scope="module")
async def app(store: Store, settings: Mapping[str, str]) -> AsyncIterator[Litestar]:
    built = create_app(ServerSettings.read({"LEASEFORGE_AUTH_SECRET": SECRET, **settings}), store)
    async with built.lifespan():
        yield built


@pytest.fixture(autouse=True)
def _clean(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as raw:
        raw.flushdb()


@pytest.fixture
async def stranger(app: Litestar, _clean: None) -> AsyncIterator[Visitor]:
    """Somebody who is not logged in."""
    transport = httpx.ASGITransport(app=cast(Any, app), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield Visitor(client)


@pytest.fixture
async def another(app: Litestar) -> AsyncIterator[Callable[[], Visitor]]:
    """Opens further browsers, each with cookies of its own."""
    clients: list[httpx.AsyncClient] = []

    def browser() -> Visitor:
        transport = httpx.ASGITransport(app=cast(Any, app), raise_app_exceptions=False)
        clients.append(httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1"))
        return Visitor(clients[-1])

    yield browser
    for client in clients:
        await client.aclose()


@pytest.fixture
async def visit(stranger: Visitor, store: Store) -> Callable[[Role], Any]:
    """Logs somebody with a role in: `await visit(Role.OPERATOR)`."""

    async def log_in(role: Role) -> Visitor:
        await store.run(calls.declare_account(role, password_hash=PASSWORD_HASH, roles=[role]))
        answer = await stranger.post("/console/login", username=role.value, password=PASSWORD)
        assert answer.status_code == 303, answer.text
        return stranger

    return log_in


@pytest.fixture
async def operator(visit: Callable[[Role], Any]) -> Visitor:
    return cast(Visitor, await visit(Role.OPERATOR))
