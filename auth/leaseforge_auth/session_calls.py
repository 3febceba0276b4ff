"""What browser sessions ask of Redis, as calls that a store carries out."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, answer
from leaseforge_auth import keys
from leaseforge_auth.calls import SCRIPTS, decode_roles
from leaseforge_auth.roles import Role

MOST_OF_ONE_ACCOUNT = 50
PUBLIC_ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as lists show it. `id` names it, and is of no use as a cookie. Times are Redis time in ms."""

    id: str
    created_at_ms: int
    seen_at_ms: int
    address: str
    agent: str


def public_id(session_id: str) -> str:
    """What lists call a session: of no use as a cookie."""
    return keys.session_digest(session_id)[:PUBLIC_ID_DIGITS]


def open_session(
    session_id: str, *, username: str, epoch: int, idle_ms: int, address: str = "", agent: str = ""
) -> Call[Answer]:
    """Stores a new session: ok, or conflict if the account changed since it logged in."""
    args: tuple[tuple[str, Arg], ...] = (
        ("username", username),
        ("epoch", str(epoch)),
        ("idle_ms", idle_ms),
        ("digest", keys.session_digest(session_id)),
        ("address", address),
        ("agent", agent),
        ("most", MOST_OF_ONE_ACCOUNT),
    )
    session_keys = keys.named(
        session=keys.session(session_id), account=keys.account(username), sessions=keys.sessions_of(username)
    )
    return Call(SCRIPTS.load("session_open"), session_keys, args, answer)


def read_session(
    session_id: str, *, idle_ms: int, absolute_ms: int, extend: bool
) -> Call[tuple[str, tuple[Role, ...]] | None]:
    """The session's username and what roles the account has now; None when the session has ended."""

    def read(raw: Sequence[bytes]) -> tuple[str, tuple[Role, ...]] | None:
        return (raw[0].decode(), decode_roles(raw[1].decode())) if raw else None

    args: tuple[tuple[str, Arg], ...] = (("idle_ms", idle_ms), ("absolute_ms", absolute_ms), ("extend", int(extend)))
    return Call(SCRIPTS.load("session_read"), keys.named(session=keys.session(session_id)), args, read)


def sessions_standing(session_ids: Sequence[str], *, absolute_ms: int) -> Call[list[bool]]:
    """Of each session whether it is still good; none is kept alive by asking."""

    def read(raw: Sequence[bytes]) -> list[bool]:
        return [word == b"good" for word in raw]

    digests = [keys.session_digest(session_id) for session_id in session_ids]
    return Call(SCRIPTS.load("session_standing"), keys.named(), (("absolute_ms", absolute_ms),), read, rest=digests)


def close_session(session_id: str) -> Call[Answer]:
    """Ends a session."""
    return Call(SCRIPTS.load("session_close"), keys.named(session=keys.session(session_id)), (), answer)


def list_sessions(username: str) -> Call[tuple[SessionInfo, ...]]:
    """The sessions of an account that have not ended, newest first."""

    def read(raw: Sequence[bytes]) -> tuple[SessionInfo, ...]:
        rows = [[value.decode("utf-8", "replace") for value in raw[i : i + 5]] for i in range(0, len(raw), 5)]
        return tuple(
            SessionInfo(digest[:PUBLIC_ID_DIGITS], int(created or 0), int(seen or 0), address, agent)
            for digest, created, seen, address, agent in rows
        )

    session_keys = keys.named(account=keys.account(username), sessions=keys.sessions_of(username))
    return Call(SCRIPTS.load("session_list"), session_keys, (), read)


def revoke_session(username: str, public_id: str) -> Call[Answer]:
    """Ends one session of an account: ok or not_found."""
    session_keys = keys.named(sessions=keys.sessions_of(username))
    return Call(SCRIPTS.load("session_revoke"), session_keys, (("id", public_id),), answer)
