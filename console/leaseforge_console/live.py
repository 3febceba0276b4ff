"""Live updates: one poller for each server process, however many tabs look on.

A tab listens to a topic. While anybody listens, the poller reads the snapshot every two seconds, and once each topic
that has listeners; every listener of a topic gets the same values, and none that were read before it came, but for the
shapes of charts and the like, which are remembered for a while (see `recently`). With nobody listening nothing is read.

At each turn it also asks, once for all tabs, whose session has ended: their streams end, and so the tabs find out.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import structlog

from leaseforge import bulk, events, limits, reads
from leaseforge.errors import BulkNotFound, JobNotFound, LeaseforgeError, QueueNotFound, WorkerNotFound
from leaseforge.keys import system_key
from leaseforge.pulse import Pulse
from leaseforge.queues import queue_name_problem
from leaseforge.store import Store
from leaseforge.workers import WorkerInfo
from leaseforge_auth.shared_reads import SharedReads
from leaseforge_console.room import Seat
from leaseforge_console.views.snapshot import NO_OPERATIONS, Snapshot

EVERY_S = 2.0
LOOP = "live"
"""The poller's name among the loops of a process."""
MAX_TOPICS = 500
"""More different pages than this in one process: the rest is answered 503 and tries again."""

MAX_STREAMS_PER_USER = 60
"""More open tabs than this of one account in one process: the rest is answered 503 and tries again."""

log = structlog.get_logger()


class Load(Protocol):
    """Reads what one page shows, given the snapshot of this moment."""

    def __call__(self, store: Store, snapshot: Snapshot, /, *args: Any) -> Awaitable[Any]:
        """Raises JobNotFound, QueueNotFound or WorkerNotFound when there is nothing left to show."""
        ...


@dataclass(frozen=True, slots=True)
class Topic:
    """What a page shows: how it is read, and of what. Equal topics are read once.

    `loop` names a topic whose readings are looked after as a loop of their own.
    """

    load: Load
    args: tuple[Hashable, ...] = ()
    loop: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    """One reading: values, or `trouble` in words when Redis did not answer, or `gone` when there is nothing left."""

    at: float
    snapshot: Snapshot | None = None
    data: Any = None
    trouble: str = ""
    gone: bool = False

    @property
    def age_ms(self) -> int:
        """How old the values are now."""
        return round((time.monotonic() - self.at) * 1000)


@dataclass(slots=True)
class _Feed:
    """The latest update of a topic; a slow listener misses those in between, never the last."""

    listeners: int = 0
    number: int = 0
    update: Update | None = None
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def has_news(self, seen: int, since: float) -> bool:
        """Whether an update behind `seen` was read `since` then: an older one may lack what the listener has done."""
        return self.number > seen and self.update is not None and self.update.at >= since


SessionsEnded = Callable[[Sequence[str]], Awaitable[frozenset[str]]]
"""Which of the sessions of these ids have ended."""


class TooManyStreams(LeaseforgeError):
    """More is watched live than one process reads for, or than one account may."""


async def read_snapshot(store: Store) -> Snapshot:
    """All queues and workers, and what goes on in bulk, as far as it can be read.

    Pages that are asked for at the same time share a reading, but none is given one that had begun before it was asked
    for: what its reader has just done, here or by another server, might be missing in it.
    """
    return await _SHARED.get(store)


async def _read_snapshot(store: Store) -> Snapshot:
    queues, workers, going, foreign_keys = await asyncio.gather(
        store.run(reads.readable(reads.queues(), [])),
        store.run(reads.readable(reads.all_workers(), [])),
        store.run(reads.readable(bulk.going(), NO_OPERATIONS)),
        store.run(reads.foreign_keys()),
    )
    if not queues and system_key("queues") in foreign_keys:
        queues = await store.run(reads.queues_named(_served(workers)))
    return Snapshot.of(queues, workers, going, foreign_keys)


_SHARED: SharedReads[Store, Snapshot] = SharedReads(_read_snapshot, is_alone=lambda: False)


def _served(workers: Iterable[WorkerInfo]) -> list[str]:
    """The queues that workers name: what can be known of them without the list of all."""
    names = {name for worker in workers for name in worker.queues}
    return [name for name in sorted(names) if not queue_name_problem(name)][: limits.MAX_QUEUES]


class Live:
    """The poller and those who listen. `run` belongs into the application's lifespan.

    `standing` are the topics with a `loop` of their own: with nobody listening they wait as they should.
    """

    def __init__(
        self,
        store: Store,
        *,
        every_s: float = EVERY_S,
        ended: SessionsEnded | None = None,
        pulse: Pulse | None = None,
        standing: Sequence[Topic] = (),
    ) -> None:
        self._store = store
        self._sessions_ended = ended
        self._every_s = every_s
        self._pulse = pulse or Pulse()
        self._standing = standing
        self._feeds: dict[Topic, _Feed] = {}
        self._streams: Counter[str] = Counter()
        self._sessions: Counter[str] = Counter()
        self._acted: dict[str, float] = {}
        self._over: frozenset[str] = frozenset()
        self._wake = asyncio.Event()
        self._closed = False

    @property
    def topics(self) -> int:
        """How many different pages are watched now."""
        return len(self._feeds)

    def streams_of(self, user: str) -> int:
        """How many streams of this account are open, or about to be."""
        return self._streams[user]

    async def run(self, stop: asyncio.Event) -> None:
        """Polls until `stop` is set, then lets all listeners end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._close_on(stop))
            while not self._closed:
                self._wake.clear()
                self._beat()
                if self._feeds:
                    await self._poll_safely()
                # With nobody listening, too: a loop that waits as it should says so.
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), self._every_s)

    def _beat(self) -> None:
        self._pulse.beat(LOOP)
        for topic in self._standing:
            if topic not in self._feeds:
                self._pulse.beat(topic.loop)

    def nudge(self, session: str = "") -> None:
        """Something was just changed here: read at once instead of at the next turn.

        The session that changed it is not shown what was read before: on its pages the change would look undone.
        """
        if session in self._sessions:
            self._acted[session] = time.monotonic()
        self._wake.set()

    def take(self, topic: Topic, *, user: str = "", session: str = "") -> "Listener":
        """A seat for one more stream of this account. It is given back when the stream ends, or never begins.

        Raises TooManyStreams when one more different page, or one more of this account, would be too many.
        """
        if topic not in self._feeds and len(self._feeds) >= MAX_TOPICS:
            raise TooManyStreams(f"{MAX_TOPICS} different pages are watched already")
        if self._streams[user] >= MAX_STREAMS_PER_USER:
            raise TooManyStreams(f"you watch {MAX_STREAMS_PER_USER} pages already")
        feed = self._feeds.setdefault(topic, _Feed())
        feed.listeners += 1
        self._streams[user] += 1
        self._sessions[session] += 1
        self._wake.set()
        return Listener(self, feed, session, Seat(lambda: self._give_back(topic, feed, user, session)))

    def _give_back(self, topic: Topic, feed: _Feed, user: str, session: str) -> None:
        feed.listeners -= 1
        if not feed.listeners:
            self._feeds.pop(topic, None)
        _count_down(self._streams, user)
        _count_down(self._sessions, session)
        if session not in self._sessions:
            self._acted.pop(session, None)

    def goes_on(self, session: str) -> bool:
        """Whether a stream of this session is still to be fed."""
        return not self._closed and session not in self._over

    async def wait_for_news(self, feed: _Feed, seen: int, since: float, session: str) -> None:
        """Returns when there is news that was read `since` then and since the session acted, or the server stops."""

        def is_over() -> bool:
            return self._closed or feed.has_news(seen, max(since, self._acted.get(session, since)))

        async with feed.changed:
            await feed.changed.wait_for(is_over)

    async def _poll_safely(self) -> None:
        try:
            await self._poll()
        except Exception:
            # A defect must not end live updates for good.
            self._crashed(LOOP)

    async def _poll(self) -> None:
        at = time.monotonic()
        try:
            snapshot, self._over = await asyncio.gather(read_snapshot(self._store), self._find_ended())
        except LeaseforgeError as error:
            log.warning(events.CONSOLE_POLL_FAILED, error=str(error))
            await self._tell({topic: Update(at, trouble=str(error)) for topic in list(self._feeds)})
        else:
            topics = list(self._feeds)
            found = await asyncio.gather(*(self._load(topic, snapshot, at) for topic in topics))
            await self._tell(dict(zip(topics, found, strict=True)))

    async def _find_ended(self) -> frozenset[str]:
        watching = [session for session in list(self._sessions) if session]
        return await self._sessions_ended(watching) if self._sessions_ended and watching else frozenset()

    async def _load(self, topic: Topic, snapshot: Snapshot, at: float) -> Update | None:
        """None if a defect was met: that must not keep what is new from those who watch other pages."""
        try:
            return Update(at, snapshot, await topic.load(self._store, snapshot, *topic.args))
        except (BulkNotFound, JobNotFound, QueueNotFound, WorkerNotFound):
            return Update(at, snapshot, gone=True)
        except LeaseforgeError as error:
            return Update(at, snapshot, trouble=str(error))
        except Exception:
            self._crashed(topic.loop or LOOP)
            return None

    def _crashed(self, loop: str) -> None:
        self._pulse.crashed(loop)
        log.exception(events.CONSOLE_POLL_FAILED)

    async def _tell(self, updates: Mapping[Topic, Update | None]) -> None:
        for topic, update in updates.items():
            if update is None:
                continue
            if topic.loop:
                self._pulse.beat(topic.loop)
            if (feed := self._feeds.get(topic)) is not None:
                async with feed.changed:
                    feed.number, feed.update = feed.number + 1, update
                    feed.changed.notify_all()

    async def _close_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._closed = True
        self._wake.set()
        for feed in list(self._feeds.values()):
            async with feed.changed:
                feed.changed.notify_all()


class Listener:
    """One stream's seat among those that listen, held from the moment it was asked for."""

    def __init__(self, live: Live, feed: _Feed, session: str, seat: Seat) -> None:
        self._live = live
        self._feed = feed
        self._session = session
        self._seat = seat
        self._since = time.monotonic()

    async def updates(self, *, keepalive_s: float = 10.0) -> AsyncIterator[Update | None]:
        """The topic's updates as they come, None when there was none for `keepalive_s`; to be asked for once.

        Ends with the server, and when the session it is for has ended.
        """
        feed, seen = self._feed, 0
        with self._seat:
            while self._live.goes_on(self._session):
                try:
                    async with asyncio.timeout(keepalive_s):
                        await self._live.wait_for_news(feed, seen, self._since, self._session)
                except TimeoutError:
                    yield None
                    continue
                seen = feed.number
                if feed.update is not None and self._live.goes_on(self._session):
                    yield feed.update


def _count_down(counts: Counter[str], name: str) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]
