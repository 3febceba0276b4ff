"""API tokens for programs: made by hand, shown once, good until they expire or are revoked.

A *personal* token acts for the account that made it, with what that account may do at the moment and the token was
given, whichever is less. A *service* token stands for itself; it outlives the account that made it.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, answer
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.limits import MAX_PAGE
from leaseforge.store import Store
from leaseforge_auth import keys
from leaseforge_auth.calls import SCRIPTS, decode_roles, encode_roles
from leaseforge_auth.errors import NotAuthenticated, NotPermitted, TokenNameTaken, TokenNotFound, TooManyTokens
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role, permissions_of
from leaseforge_auth.shared_reads import SharedReads

PREFIX = "lf_"
DEFAULT_TTL_S = 90 * 86_400
MAX_TTL_S = 365 * 86_400
MOST_OF_ONE_OWNER = 100
SERVICE_PREFIX = "service:"
"""What a service token is called where an account would be named: no account's name has a colon."""
_TOKEN = re.compile(r"lf_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
_SERVICE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_MAX_NAME = 64


class TokenKind(StrEnum):
    """Whom a token acts for."""

    PERSONAL = "personal"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token as lists show it; times are Redis time in ms, `expires_at_ms` None for one that does not expire."""

    id: str
    name: str
    kind: TokenKind
    owner: str
    roles: tuple[Role, ...]
    permissions: frozenset[Permission]
    created_at_ms: int
    expires_at_ms: int | None
    last_used_at_ms: int | None


@dataclass(frozen=True, slots=True)
class Shown:
    """An API token that authenticated a request."""

    id: str
    expires_at_ms: int | None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just made. `text` is shown to its maker once and stored nowhere."""

    id: str
    text: str = field(repr=False)
    created_at_ms: int
    expires_at_ms: int | None


class ApiTokens:
    """Makes, reads, lists and revokes API tokens. `is_alone` as of SharedReads."""

    def __init__(self, store: Store, *, is_alone: Callable[[], bool] = lambda: True) -> None:
        self._store = store
        self._reads = SharedReads(self._read_token, is_alone=is_alone)

    async def _read_token(self, shown: tuple[str, str]) -> "_Found | None":
        return await self._store.run(_read(*shown))

    async def identify(self, text: str) -> tuple[Identity, Shown]:
        """Who shows this token. Raises NotAuthenticated for one that is unknown, expired or revoked."""
        match = _TOKEN.fullmatch(text)
        found = await self._reads.get((match[1], _digest(match[2]))) if match else None
        if match is None or found is None:
            raise NotAuthenticated("the token is not valid (any more)", had_credential=True)
        name, kind, owner, granted, expires_at_ms, account_roles = found
        if kind is TokenKind.SERVICE:
            identity = Identity(f"{SERVICE_PREFIX}{name}", (), granted, "api_token")
        else:
            identity = Identity(owner, account_roles, granted & permissions_of(account_roles), "api_token")
        return identity, Shown(match[1], expires_at_ms)

    async def create(
        self,
        maker: Identity,
        *,
        name: str,
        kind: TokenKind,
        roles: Sequence[Role] = (),
        permissions: Sequence[Permission] = (),
        ttl_s: int | None = DEFAULT_TTL_S,
    ) -> NewToken:
        """A new token that may do what `roles` and `permissions` say, which its maker must be allowed, too.

        Raises BadInput, NotPermitted, TokenNameTaken (service tokens), TooManyTokens.
        """
        _check(maker, name, kind, roles, permissions, ttl_s)
        token_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        result, now_ms = await self._store.run(
            _create(
                token_id,
                digest=_digest(secret),
                name=name,
                kind=kind,
                owner=maker.username,
                roles=roles,
                permissions=permissions,
                ttl_ms=(ttl_s or 0) * 1000,
            )
        )
        if result is Answer.CONFLICT:
            raise TokenNameTaken(name)
        if result is Answer.REFUSED:
            raise TooManyTokens(MOST_OF_ONE_OWNER)
        expires_at_ms = None if ttl_s is None else now_ms + ttl_s * 1000
        return NewToken(token_id, f"{PREFIX}{token_id}_{secret}", now_ms, expires_at_ms)

    async def listed(
        self, owner: str | None, *, offset: int, limit: int = MAX_PAGE
    ) -> tuple[tuple[ApiToken, ...], int]:
        """A page of an account's tokens, or of all (None), newest first; and how many there are."""
        return await self._store.run(_list(owner, offset=offset, count=limit))

    async def revoke(self, token_id: str, *, owner: str | None) -> None:
        """Ends a token; with `owner`, only one of this account's. Raises TokenNotFound."""
        if await self._store.run(_revoke(token_id, owner=owner or "")) is Answer.NOT_FOUND:
            raise TokenNotFound(token_id)


def _check(
    maker: Identity,
    name: str,
    kind: TokenKind,
    roles: Sequence[Role],
    permissions: Sequence[Permission],
    ttl_s: int | None,
) -> None:
    if maker.kind == "api_token":
        raise NotPermitted("a login: an API token makes no further ones")
    if kind is TokenKind.SERVICE and not maker.can(Permission.TOKENS_WRITE):
        raise NotPermitted(Permission.TOKENS_WRITE)
    problems = []
    if kind is TokenKind.SERVICE and not _SERVICE_NAME.fullmatch(name):
        problems.append(FieldProblem("name", "must be 1 to 64 of A-Z a-z 0-9 . _ - and begin with a letter or digit"))
    elif not 1 <= len(name) <= _MAX_NAME or not name.isprintable():
        problems.append(FieldProblem("name", f"must be 1 to {_MAX_NAME} printable characters"))
    if not roles and not permissions:
        problems.append(FieldProblem("permissions", "say what the token may do: a role, or some permissions"))
    if ttl_s is None and not (kind is TokenKind.SERVICE and maker.can(Permission.USERS_WRITE)):
        problems.append(FieldProblem("expires_in_seconds", "only a service token an administrator makes never expires"))
    if ttl_s is not None and not 60 <= ttl_s <= MAX_TTL_S:
        problems.append(FieldProblem("expires_in_seconds", f"must be from 60 to {MAX_TTL_S:,} (a year)"))
    if problems:
        raise BadInput(problems)
    beyond = (permissions_of(roles) | frozenset(permissions)) - maker.permissions
    if beyond:
        raise NotPermitted(", ".join(sorted(beyond)))


def _digest(secret: str) -> str:
    """What is stored. The secret has 256 random bits: no slow hash is needed to keep it from being guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()


_Found = tuple[str, TokenKind, str, frozenset[Permission], int | None, tuple[Role, ...]]


def _read(token_id: str, digest: str) -> Call[_Found | None]:
    def read(raw: Sequence[bytes]) -> _Found | None:
        if not raw:
            return None
        name, kind, owner, roles, permissions, expires, account_roles = (value.decode() for value in raw)
        granted = permissions_of(decode_roles(roles)) | _decode_permissions(permissions)
        return name, TokenKind(kind), owner, granted, _ms(expires), decode_roles(account_roles)

    token_keys = keys.named(token=keys.api_token(token_id))
    return Call(SCRIPTS.load("api_token_read"), token_keys, (("digest", digest),), read)


def _create(
    token_id: str,
    *,
    digest: str,
    name: str,
    kind: TokenKind,
    owner: str,
    roles: Sequence[Role],
    permissions: Sequence[Permission],
    ttl_ms: int,
) -> Call[tuple[Answer, int]]:
    args: tuple[tuple[str, Arg], ...] = (
        ("id", token_id),
        ("digest", digest),
        ("name", name),
        ("kind", kind),
        ("owner", owner),
        ("roles", encode_roles(roles)),
        ("permissions", ",".join(sorted(set(permissions)))),
        ("ttl_ms", ttl_ms),
        ("most", MOST_OF_ONE_OWNER),
    )
    token_keys = keys.named(
        tokens=keys.API_TOKENS,
        owned=keys.api_tokens_of(owner),
        services=keys.SERVICES,
        token=keys.api_token(token_id),
    )
    return Call(SCRIPTS.load("api_token_create"), token_keys, args, lambda raw: (answer(raw[0]), int(raw[1])))


def _list(owner: str | None, *, offset: int, count: int) -> Call[tuple[tuple[ApiToken, ...], int]]:
    def read(raw: Sequence[Any]) -> tuple[tuple[ApiToken, ...], int]:
        rows = [[value.decode() for value in raw[i : i + 9]] for i in range(1, len(raw), 9)]
        return tuple(_token(*row) for row in rows), int(raw[0])

    listed = keys.API_TOKENS if owner is None else keys.api_tokens_of(owner)
    args: tuple[tuple[str, Arg], ...] = (("offset", offset), ("count", count))
    return Call(SCRIPTS.load("api_token_list"), keys.named(list=listed), args, read)


def _revoke(token_id: str, *, owner: str) -> Call[Answer]:
    token_keys = keys.named(tokens=keys.API_TOKENS, services=keys.SERVICES, token=keys.api_token(token_id))
    return Call(SCRIPTS.load("api_token_revoke"), token_keys, (("id", token_id), ("owner", owner)), answer)


def _token(
    token_id: str,
    name: str,
    kind: str,
    owner: str,
    roles: str,
    permissions: str,
    created: str,
    expires: str,
    used: str,
) -> ApiToken:
    return ApiToken(
        token_id,
        name,
        TokenKind(kind),
        owner,
        decode_roles(roles),
        _decode_permissions(permissions),
        int(created),
        _ms(expires),
        _ms(used),
    )


def _decode_permissions(text: str) -> frozenset[Permission]:
    """Reads stored permissions; a word this version does not know gives nothing."""
    return frozenset(Permission(word) for word in text.split(",") if word in Permission.__members__.values())


def _ms(text: str) -> int | None:
    return int(text) if text and text != "0" else None
