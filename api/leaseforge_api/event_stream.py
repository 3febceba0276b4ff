"""A program's stream of events: what changed, for as long as its token lets it know."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from leaseforge.errors import LeaseforgeError
from leaseforge_api.event_feed import EventFeed, event_text
from leaseforge_api.schemas.events import EndEvent, EventTopic, StartEvent, TroubleEvent
from leaseforge_auth.access import AccessTokens
from leaseforge_auth.api_tokens import PREFIX, ApiTokens
from leaseforge_auth.errors import AuthError
from leaseforge_auth.identity import Identity
from leaseforge_console.live import Listener

RETRY_MS = 3_000
CHECK_S = 2.0
"""How long a stream may go on with a token that was ended elsewhere, and as long again for the reading."""
HEARTBEAT_S = 10.0
_CHUNK = 100
"""Events sent at a time: what lies in memory for one reader is bounded by it."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """The token a stream was asked for with. `expires_at_s` (Unix time) is None for one that does not expire."""

    token: str
    username: str
    expires_at_s: float | None

    @property
    def has_expired(self) -> bool:
        """Whether its time is over by this machine's clock."""
        return self.expires_at_s is not None and time.time() >= self.expires_at_s


class Standing:
    """Asks every two seconds whether a token is still good, once for all streams that were opened with it."""

    def __init__(self, tokens: AccessTokens, api_tokens: ApiTokens) -> None:
        self._tokens = tokens
        self._api_tokens = api_tokens
        self._checks: dict[bytes, tuple[float, asyncio.Task[Identity]]] = {}

    async def may_hear(self, bearer: Bearer, topics: Sequence[EventTopic]) -> bool:
        """Whether the token is good and still allows these topics; while Redis is away nothing is known against it."""
        if bearer.has_expired:
            return False
        try:
            identity = await asyncio.shield(self._check(bearer.token))
        except LeaseforgeError as error:
            return not isinstance(error, AuthError)
        return all(identity.can(topic.permission) for topic in topics)

    def _check(self, token: str) -> "asyncio.Task[Identity]":
        now = time.monotonic()
        key = hashlib.sha256(token.encode()).digest()
        begun_at, check = self._checks.get(key, (0.0, None))
        if check is None or now - begun_at >= CHECK_S:
            self._checks = {other: known for other, known in self._checks.items() if now - known[0] < 2 * CHECK_S}
            check = asyncio.create_task(self._identify(token))
            check.add_done_callback(_retrieve)
            self._checks[key] = (now, check)
        return check

    async def _identify(self, token: str) -> Identity:
        known = self._api_tokens if token.startswith(PREFIX) else self._tokens
        identity, _ = await known.identify(token)
        return identity


def _retrieve(check: "asyncio.Task[Identity]") -> None:
    """Nobody may be left to hear how it ended."""
    if not check.cancelled():
        check.exception()


async def stream_events(
    feed: EventFeed,
    listener: Listener,
    standing: Standing,
    bearer: Bearer,
    topics: Sequence[EventTopic],
    last_event_id: str | None,
) -> AsyncIterator[bytes]:
    """The stream as it is sent; ends with the server, and with the token."""
    told = feed.number_of(last_event_id)
    yield f"retry: {RETRY_MS}\n".encode() + _start(topics, told)
    spoke_at = time.monotonic()
    is_in_trouble = False
    async for update in listener.updates(keepalive_s=CHECK_S):
        if not await standing.may_hear(bearer, topics):
            yield event_text("end", EndEvent("not-authenticated"))
            return
        said = []
        if update is not None and update.trouble and not is_in_trouble:
            is_in_trouble = True
            said = [event_text("trouble", TroubleEvent(update.trouble))]
        elif update is not None and not update.trouble:
            if told and feed.is_behind(told):
                told = 0
                said = [_start(topics, told)]
            if feed.number > told or is_in_trouble:
                number = feed.number
                said += feed.events_since(told, topics)
                told, is_in_trouble = number, False
        if not said and time.monotonic() - spoke_at >= HEARTBEAT_S:
            said = [b": still here\n\n"]
        for start in range(0, len(said), _CHUNK):
            yield b"".join(said[start : start + _CHUNK])
            spoke_at = time.monotonic()
    yield event_text("end", EndEvent("stopping"))


def _start(topics: Sequence[EventTopic], told: int) -> bytes:
    return event_text("start", StartEvent(list(topics), resumed=told > 0))
