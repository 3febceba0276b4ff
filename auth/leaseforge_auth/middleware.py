"""The one place where requests are let in: finds out who asks and whether the route is open to them."""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from litestar import Request
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from leaseforge_auth import csrf, guards
from leaseforge_auth.access import AccessTokens
from leaseforge_auth.addresses import Network, request_address
from leaseforge_auth.api_tokens import PREFIX, ApiTokens
from leaseforge_auth.audit import action as audit
from leaseforge_auth.audit.trail import AuditTrail
from leaseforge_auth.errors import AuthError, NotAuthenticated, NotPermitted
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.sessions import Sessions

FORM = "application/x-www-form-urlencoded"


class Authenticate(ASGIMiddleware):
    """Sets `scope["user"]` to the caller's Identity, or refuses.

    The option `auth` of a route or router says which credential counts: "bearer" (a token in the Authorization
    header, nothing else) or "session" (the cookie, nothing else). Routes say with `guards` who may come in; one that
    says nothing lets nobody in. What a route declares for the audit trail is written there before the route runs,
    also when a known caller is refused. Raises NotAuthenticated, NotPermitted, CrossSiteRequest, StoreError.
    """

    def __init__(
        self,
        *,
        tokens: AccessTokens,
        api_tokens: ApiTokens,
        sessions: Sessions,
        trail: AuditTrail,
        web_url: str,
        trusted_proxies: Sequence[Network] = (),
    ) -> None:
        self.tokens = tokens
        self.api_tokens = api_tokens
        self.sessions = sessions
        self.trail = trail
        self.web_url = web_url
        self.trusted_proxies = trusted_proxies

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Let the request on to its route, with the caller's identity, or raise."""
        opt: Mapping[str, Any] = scope["route_handler"].opt
        scope["user"], scope["auth"] = None, None
        if scope["type"] != ScopeType.HTTP:
            raise NotPermitted("a permission nobody has: this server speaks HTTP only")
        request: Request[Any, Any, Any] = Request(scope, receive, send)
        self._prepare_audit(request, opt)
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
        shown = token.strip()
        known = self.api_tokens if shown.startswith(PREFIX) else self.tokens
        identity, request.scope["auth"] = await known.identify(shown)
        request.scope["user"] = identity
        await _admit(request, identity, opt)

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
        request.scope["user"], request.scope["auth"] = identity, session_id
        await _admit(request, identity, opt, checks_form=is_change)

    def _prepare_audit(self, request: Request[Any, Any, Any], opt: Mapping[str, Any]) -> None:
        word = opt.get(guards.AUDIT)
        if word is None:
            return
        request.scope[audit.SCOPE_KEY] = audit.new_action(  # type: ignore[literal-required]  # open to additions
            self.trail,
            word,
            address=request_address(request, self.trusted_proxies),
            path_parameters=request.path_params,
            request_id=structlog.contextvars.get_contextvars().get("request_id", ""),
        )


async def _admit(
    request: Request[Any, Any, Any], identity: Identity, opt: Mapping[str, Any], *, checks_form: bool = False
) -> None:
    """Lets a known caller go on to the route, or refuses; the audit trail hears of both."""
    is_audited, reason = guards.AUDIT in opt, ""
    try:
        if checks_form:
            csrf.check_token(await _sent_form_token(request), identity.csrf_token)
        _check_permission(identity, opt)
        if is_audited:
            reason = await audit.reason_of(request)
    except (AuthError, HTTPException):  # the latter: a body that is too large, or that ends too early
        if is_audited:
            await audit.action_of(request).begin(identity)
        raise
    if is_audited:
        await audit.action_of(request).begin(identity, reason=reason)


def _check_permission(identity: Identity, opt: Mapping[str, Any]) -> None:
    """Refuse whoever has none of the permissions asked for; a route that asks for nothing is open to nobody."""
    if opt.get(guards.LOGGED_IN) and identity.kind == "api_token":
        raise NotPermitted("a login: an API token does not do")
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
