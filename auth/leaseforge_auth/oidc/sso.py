"""A login at the provider: it is begun, comes back, and becomes a session or a one-time code."""

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import structlog
from litestar.datastructures import Cookie

from leaseforge import events
from leaseforge.answers import Answer
from leaseforge.store import Store
from leaseforge_auth.audit.action import Action
from leaseforge_auth.calls import Account
from leaseforge_auth.errors import NotAuthenticated
from leaseforge_auth.oidc import calls
from leaseforge_auth.oidc.browser import BrowserCookie
from leaseforge_auth.oidc.errors import (
    SsoDenied,
    SsoError,
    SsoLost,
    SsoMisconfigured,
    SsoOff,
    SsoOtherBrowser,
    SsoUnavailable,
)
from leaseforge_auth.oidc.id_tokens import Expected, read_id_token
from leaseforge_auth.oidc.metadata import Metadata
from leaseforge_auth.oidc.people import Person, lacks, person_of, roles_of, together
from leaseforge_auth.oidc.provider import Provider
from leaseforge_auth.oidc.requests import authorization_url
from leaseforge_auth.oidc.returning import Target, parse_return, with_code
from leaseforge_auth.oidc.settings import OidcSettings
from leaseforge_auth.oidc.token_call import fetch_tokens
from leaseforge_auth.throttle import LoginThrottle

_BYTES = 32
_RANDOM = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_WORD = re.compile(r"[a-z_]{1,40}", re.ASCII)
_MAX_CODE = 4096
_FOR_A_WHILE = ("temporarily_unavailable", "server_error")
_OF_SETTINGS = ("invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Started:
    """Where the browser goes, and the cookie it takes along."""

    url: str = field(repr=False)
    cookie: Cookie = field(repr=False)


@dataclass(frozen=True, slots=True)
class Finished:
    """Who has logged in and where they go: a page here (with a session), or an address that holds a one-time code."""

    account: Account
    address: str = field(repr=False)
    is_local: bool


class SingleSignOn:
    """Logins through the provider of the settings; without one everything raises SsoOff."""

    def __init__(
        self,
        store: Store,
        settings: OidcSettings,
        *,
        provider: Provider,
        cookie: BrowserCookie,
        throttle: LoginThrottle,
        root_path: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.cookie = cookie
        self._store = store
        self._provider = provider
        self._throttle = throttle
        self._root_path = root_path
        self._clock = clock

    async def start(self, return_to: str | None, *, browser: str | None, address: str, anew: bool = False) -> Started:
        """Begins a login. `browser` is the value of its cookie, if it has one.

        With `anew` the provider asks who it is even if it knows the browser: for those with several accounts.
        Raises SsoOff, SsoBadReturn, SsoUnavailable, SsoMisconfigured.
        """
        self._check_is_on()
        allowed = self.settings.allowed_origins
        target = parse_return(return_to, allowed_origins=allowed, root_path=self._root_path)
        metadata = await self._provider.metadata()
        state, nonce, verifier = (secrets.token_urlsafe(_BYTES) for _ in range(3))
        known = self.cookie.value(browser)
        await self._store.run(calls.begin(state, known, calls.Begun(nonce, verifier, target), address=address))
        url = authorization_url(
            self.settings, metadata.authorization_endpoint, state=state, nonce=nonce, verifier=verifier, anew=anew
        )
        return Started(url, self.cookie.holding(known))

    async def finish(
        self, query: Mapping[str, Sequence[str]], *, browser: str | None, address: str, action: Action
    ) -> Finished:
        """Ends a login that has come back with `query`.

        The audited `action` begins once the provider has answered for somebody: what strangers send fills no trail.
        Raises SsoError of every kind, TooManyAttempts.
        """
        self._check_is_on()
        try:
            return await self._finish(query, browser=browser or "", address=address, action=action)
        except SsoError as error:
            if action.has_begun:
                action.note(cause=error.cause)
            log.warning(events.SSO_REFUSED, cause=error.cause)
            raise

    async def exchange(self, code: str, *, action: Action) -> Account:
        """The account of a login, for its one-time code. Raises SsoOff, NotAuthenticated."""
        self._check_is_on()
        account = await self._store.run(calls.spend_code(code)) if _RANDOM.fullmatch(code) else None
        if account is None:
            log.warning(events.SSO_REFUSED, cause="exchange_code")
            raise NotAuthenticated("the code is not valid: it is good once, and for a minute")
        action.known(account.username, account.roles)
        await action.begin()
        log.info(events.LOGIN_SUCCEEDED, username=account.username)
        return account

    async def end_session_url(self, back: str) -> str | None:
        """Where a logout goes on to at the provider, which leads to `back`; None if there is nothing to do there."""
        if not self.settings.is_on or not self.settings.end_session:
            return None
        try:
            metadata = await self._provider.metadata()
        except (SsoUnavailable, SsoMisconfigured):
            return None
        if not metadata.end_session_endpoint:
            return None
        asked = {"client_id": self.settings.client_id, "post_logout_redirect_uri": back}
        return _with_query(metadata.end_session_endpoint, asked)

    async def _finish(
        self, query: Mapping[str, Sequence[str]], *, browser: str, address: str, action: Action
    ) -> Finished:
        state = _only(query, "state")
        if state is None or not _RANDOM.fullmatch(state):
            raise SsoLost("no_state", "the address does not belong to a login that was begun here")
        begun = await self._take(state, browser)
        # Each login pays for itself: only addresses with many failures are slowed down.
        payer = f"sso {state}"
        await self._throttle.charge(payer, address)
        metadata = await self._provider.metadata()
        code = _code_in(query, metadata)
        id_token, access_token = await fetch_tokens(
            self._provider.fetcher, metadata, self.settings, code=code, verifier=begun.verifier
        )
        try:
            person = await self._person(id_token, access_token, begun, metadata)
        except SsoDenied:
            await action.begin()
            raise
        account = await self._sign_in(person, action)
        await self._throttle.succeeded(payer, address)
        return await self._lead_back(account, begun.target)

    async def _take(self, state: str, browser: str) -> calls.Begun:
        taken = await self._store.run(calls.take(state, browser))
        if taken is None:
            raise SsoLost("unknown_state", "the login was finished before, or begun more than ten minutes ago")
        if taken.begun is None:
            raise SsoOtherBrowser("other_browser", "the login was begun in another browser")
        return taken.begun

    async def _person(self, id_token: object, access_token: str, begun: calls.Begun, metadata: Metadata) -> Person:
        expected = Expected(metadata.issuer, self.settings.client_id, begun.nonce, metadata.algorithms)
        claims = await read_id_token(
            id_token, expected, find_key=self._provider.key, access_token=access_token, now_s=self._clock()
        )
        if lacks(claims, self.settings) and metadata.userinfo_endpoint and access_token:
            answer = await self._provider.fetcher.get(metadata.userinfo_endpoint, bearer=access_token)
            if answer.status != 200:
                words = f"the provider answers {answer.status} where it should tell who has logged in"
                raise SsoUnavailable("provider_answer", words)
            claims = together(claims, answer.document, self.settings)
        return person_of(claims, self.settings)

    async def _sign_in(self, person: Person, action: Action) -> Account:
        roles = roles_of(person, self.settings)
        await action.begin()
        signed = await self._store.run(calls.sign_in(person, roles))
        action.known(signed.username, roles)
        action.note(person=person.digest[:16], email=person.email)
        match signed.answer:
            case Answer.REFUSED:
                raise SsoDenied("account_disabled", f"the account {signed.username} is disabled here")
            case Answer.EMPTY:
                raise SsoDenied("no_role", f"there is no role here for {person.email}")
            case Answer.CONFLICT:
                raise SsoDenied("no_name", f"another account has the name of {person.email}")
        return Account(signed.username, "", roles, signed.epoch, origin="oidc", is_disabled=False)

    async def _lead_back(self, account: Account, target: Target) -> Finished:
        if target.is_local:
            return Finished(account, self._root_path + target.address, is_local=True)
        code = secrets.token_urlsafe(_BYTES)
        await self._store.run(calls.store_code(code, account))
        return Finished(account, with_code(target, code), is_local=False)

    def _check_is_on(self) -> None:
        if not self.settings.is_on:
            raise SsoOff


def _code_in(query: Mapping[str, Sequence[str]], metadata: Metadata) -> str:
    """The code of a way back that is in order."""
    issuer, error, code = (_only(query, name) for name in ("iss", "error", "code"))
    if issuer != metadata.issuer and ("iss" in query or metadata.names_issuer):
        raise SsoDenied("other_issuer", "the answer is not from the provider the login was begun at")
    if error is not None:
        raise _told_by_provider(error)
    if not code or len(code) > _MAX_CODE or not code.isprintable():
        raise SsoLost("no_code", "the provider sent the browser back with nothing")
    return code


def _told_by_provider(error: str) -> SsoError:
    word = error if _WORD.fullmatch(error) else "an error"
    if error in _FOR_A_WHILE:
        return SsoUnavailable("provider_error", f"the provider says {word}")
    if error in _OF_SETTINGS:
        return SsoMisconfigured("provider_error", f"the provider refuses the request of this server: {word}")
    return SsoDenied("provider_denied", f"the provider did not let you in: {word}")


def _only(query: Mapping[str, Sequence[str]], name: str) -> str | None:
    """A parameter that is there once; one that is there twice could mean either."""
    values: Sequence[Any] = query.get(name, ())
    if len(values) > 1:
        raise SsoLost("malformed", f"the address names {name} twice")
    return values[0] if values else None


def _with_query(url: str, asked: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(asked)}"
