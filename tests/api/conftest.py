"""The whole server in this process, on a clean database, with an account for each role.

Building the application is most of a test's time, so the tests of a file share one; the database is emptied for each.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
import pytest
import redis
from litestar import Litestar

from leaseforge.store import Store, connect
from leaseforge_api.app import create_app
from leaseforge_api.settings import ServerSettings
from leaseforge_auth import calls
from leaseforge_auth.access import AccessTokens
from leaseforge_auth.roles import Role
from leaseforge_auth.tokens import TokenKeys
from tests.support import OwnServer

SECRET = "a secret of more than thirty-two bytes"
PASSWORD = "correct horse battery"
# argon2id of PASSWORD with the cheapest parameters: what is tested here is not how long hashing takes.
PASSWORD_HASH = "$argon2id$v=19$m=8,t=1,p=1$k2l2aSKXYRtsIsRStDQ/Xw$824bGughhpNGCZsxz3RS7ovp11c3S5nWh0MYYM1NJzs"

Client = httpx.AsyncClient
Bearer = Callable[[Role], dict[str, str]]


def browse(app: Litestar) -> Client:
    """A client that calls the application in this very loop; answers come complete, so it cannot watch streams."""
    transport = httpx.ASGITransport(app=cast(Any, app), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


@asynccontextmanager
async def serving(store: Store, **environ: str) -> AsyncIterator[Client]:
    """A server with settings of its own."""
    settings = {"LEASEFORGE_AUTH_SECRET": SECRET} | {f"LEASEFORGE_{name}": value for name, value in environ.items()}
    app = create_app(ServerSettings.read(settings), store)
    async with app.lifespan(), browse(app) as connected:
        yield connected


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
def app(store: Store) -> Litestar:
    return create_app(ServerSettings.read({"LEASEFORGE_AUTH_SECRET": SECRET}), store)


@pytest.fixture(scope="module")
async def client(app: Litestar) -> AsyncIterator[Client]:
    async with app.lifespan(), browse(app) as connected:
        yield connected


@pytest.fixture
def redis_client(redis_url: str) -> Any:
    with redis.Redis.from_url(redis_url) as raw:
        yield raw


@pytest.fixture(autouse=True)
def _clean(redis_client: "redis.Redis") -> None:
    redis_client.flushdb()


@pytest.fixture
async def accounts_by_role(store: Store, _clean: None) -> dict[Role, calls.Account]:
    """An account named like each role."""
    made: dict[Role, calls.Account] = {}
    for role in Role:
        await store.run(calls.declare_account(role, password_hash=PASSWORD_HASH, roles=[role]))
        account = await store.run(calls.read_account(role))
        assert account is not None
        made[role] = account
    return made


@pytest.fixture
def tokens(store: Store) -> AccessTokens:
    return AccessTokens(store, keys=TokenKeys([SECRET]), ttl_s=600)


@pytest.fixture
async def bearer(tokens: AccessTokens, accounts_by_role: Mapping[Role, calls.Account]) -> Bearer:
    """Headers with a token of the role's account."""
    return lambda role: {"Authorization": f"Bearer {tokens.issue(accounts_by_role[role]).token}"}


@pytest.fixture
async def admin(bearer: Bearer) -> dict[str, str]:
    return bearer(Role.ADMIN)
