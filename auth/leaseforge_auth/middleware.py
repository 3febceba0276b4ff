"""The one place where requests are let in: finds out who asks and whether the route is open to them."""

from collections.abc import Mapping
from typing import Any

from litestar import Request
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from leaseforge_auth import csrf, guards
from leaseforge_auth.access import AccessTokens
from leaseforge_auth.errors import NotAuthenticated, NotPermitted
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.sessions import Sessions

FORM = "application/x-www-form-urlencoded"


class Authenticate(ASGIMiddleware):
    """Sets `scope["user"]` to the caller's Identity, or refuses.

    The option `auth` of a route or router says which credential counts: "bearer" (a token in the Authorization
    header, nothing else) or "session" (the cookie, nothing else). Routes say with `guards` who may come in; one that
    says nothing lets nobody in. Raises NotAuthenticated, NotPermitted, CrossSiteRequest.
    """

    def __init__(self, *, tokens: AccessTokens, sessions: Sessions, web_url: str) -> None:
        self.tokens = tokens
        self.sessions = sessions
        self.web_url = web_url

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Let the request on to its route, with the caller's identity, or raise."""
        opt: Mapping[str, Any] = scope["route_handler"].opt
        scope["user"], scope["auth"] = None, None
        if scope["type"] != ScopeType.HTTP:
            raise NotPermitted("a permission nobody has: this server speaks HTTP only")
        request = Request[Any, Any, Any](scope, receive, send)
        if opt.get(guards.AUTH) == "session":
            await self._let_in_by_session(request, opt)
        else:
            await self._let_in_by_token(request, opt)
        await next_app(scope, receive, send)

    async def _let_in_by_token(self, request: Request[Any, Any, Any], opt: Mapping[str, Any]) -> None:
        if opt.get(guards.PUBLIC):
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            raise NotAuthenticated("log in at /api/auth/login and send the token as `Authorization: Bearer ...`")
        if scheme.lower() != "bearer":
            raise NotAuthenticated("only bearer tokens are accepted here", had_credential=True)
        identity, claims = await self.tokens.identify(token.strip())
        request.scope["user"], request.scope["auth"] = identity, claims
        _check_permission(identity, opt)

    async def _let_in_by_session(self, request: Request[Any, Any, Any], opt: Mapping[str, Any]) -> None:
        is_change = request.method not in csrf.SAFE_METHODS
        host = request.headers.get("host")
        if is_change:
            csrf.check_origin(
                fetch_site=request.headers.get("sec-fetch-site"),
                origin=request.headers.get("origin"),
                host=host,
                web_url=self.web_url,
            )
        if opt.get(guards.PUBLIC):
            return
        if not self.sessions.cookie.may_travel_to(host):
            raise NotAuthenticated(
                "the console needs https here: put a TLS proxy in front and set LEASEFORGE_WEB_URL=https://..."
            )
        session_id = request.cookies.get(self.sessions.cookie.name, "")
        identity = await self.sessions.read(session_id, extend=not opt.get(guards.PASSIVE)) if session_id else None
        if identity is None:
            raise NotAuthenticated("log in first", had_credential=bool(session_id))
        if is_change:
            csrf.check_token(await _sent_form_token(request), identity.csrf_token)
        request.scope["user"], request.scope["auth"] = identity, session_id
        _check_permission(identity, opt)


def _check_permission(identity: Identity, opt: Mapping[str, Any]) -> None:
    """Refuse whoever has none of the permissions asked for; a route that asks for nothing is open to nobody."""
    if opt.get(guards.ANY_IDENTITY):
        return
    wanted: tuple[Permission, ...] = opt.get(guards.PERMISSION, ())
    if not any(identity.can(permission) for permission in wanted):
        raise NotPermitted(" or ".join(wanted) or "a permission nobody has")


async def _sent_form_token(request: Request[Any, Any, Any]) -> str | None:
    """The form token of the request's header or form; the body stays readable for the route."""
    if (sent := request.headers.get(csrf.HEADER)) is not None:
        return sent
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return None
    value = (await request.form()).get(csrf.FORM_FIELD)
    return value if isinstance(value, str) else None
