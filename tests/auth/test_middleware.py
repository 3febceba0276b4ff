"""The middleware on routes the product does not have: forgotten declarations, and connections other than requests."""

from collections.abc import Mapping
from typing import Any, cast

import httpx
import pytest
from litestar import Litestar, Request, Response, get

from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.access import AccessTokens
from leaseforge_auth.api_tokens import ApiTokens
from leaseforge_auth.audit.chain import Chain
from leaseforge_auth.audit.trail import AuditTrail
from leaseforge_auth.cookies import session_cookie
from leaseforge_auth.errors import AuthError, NotPermitted
from leaseforge_auth.guards import AUTH, permission
from leaseforge_auth.middleware import Authenticate
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role
from leaseforge_auth.sessions import Sessions
from leaseforge_auth.tokens import TokenKeys


def answer_refusal(_: Request[Any, Any, Any], error: Exception) -> Response[str]:
    return Response(type(error).__name__, status_code=403)


@get("/forgotten")
async def forgotten() -> str:
    return "open"


@get("/forgotten-page", opt={AUTH: "session"})
async def forgotten_page() -> str:
    return "open"


@get("/empty", **permission())
async def empty() -> str:
    return "open"


@get("/declared", **permission(Permission.USERS_WRITE))
async def declared() -> str:
    return "open"


@pytest.fixture
async def tokens(store: Store) -> AccessTokens:
    return AccessTokens(store, keys=TokenKeys(["0123456789abcdef0123456789abcdef"]), ttl_s=60)


@pytest.fixture
async def sessions(store: Store) -> Sessions:
    cookie = session_cookie(is_secure=False, root_path="", max_age_s=60)
    return Sessions(store, cookie=cookie, idle_s=60, absolute_s=60)


@pytest.fixture
async def protection(store: Store, tokens: AccessTokens, sessions: Sessions) -> Authenticate:
    trail = AuditTrail(store, Chain(["0123456789abcdef0123456789abcdef"]), keep=1_000)
    return Authenticate(tokens=tokens, api_tokens=ApiTokens(store), sessions=sessions, trail=trail, web_url="")


@pytest.fixture
async def credentials(store: Store, tokens: AccessTokens, sessions: Sessions) -> dict[str, str]:
    """Everything an administrator could show."""
    await store.run(calls.declare_account("ada", password_hash="one", roles=[Role.ADMIN]))
    account = await store.run(calls.read_account("ada"))
    assert account is not None
    opened = await sessions.create(account)
    assert opened is not None
    return {
        "Authorization": f"Bearer {tokens.issue(account).token}",
        "Cookie": f"{sessions.cookie.name}={opened.id}",
    }


@pytest.mark.parametrize(
    ("path", "status"), [("/forgotten", 403), ("/forgotten-page", 403), ("/empty", 403), ("/declared", 200)]
)
async def test_a_route_that_declares_nothing_is_open_to_nobody(
    path: str, status: int, protection: Authenticate, credentials: Mapping[str, str]
) -> None:
    app = Litestar(
        [forgotten, forgotten_page, empty, declared],
        middleware=[protection],
        exception_handlers={AuthError: answer_refusal},
        openapi_config=None,
    )
    transport = httpx.ASGITransport(app=cast(Any, app))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.get(path, headers=credentials)

    assert answer.status_code == status


async def test_only_requests_are_let_in(protection: Authenticate) -> None:
    async def never(*_: Any) -> Any:
        raise AssertionError("let in")

    scope = cast(Any, {"type": "websocket", "route_handler": forgotten})

    with pytest.raises(NotPermitted):
        await protection.handle(scope, never, never, never)
