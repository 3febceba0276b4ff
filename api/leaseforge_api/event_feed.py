"""What changes, told once for all streams of a process: the latest of everything, and in which reading it changed.

The console's poller reads for this feed as it does for a page. A stream only remembers the number of the reading it
has told last, so one that reads slowly misses what was between and never the last, and holds nothing back here.
"""

import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from leaseforge import bulk, reads
from leaseforge.jobs import JobState
from leaseforge.limits import MAX_PAGE
from leaseforge.queues import QueueInfo
from leaseforge.store import Store
from leaseforge_api.findings import findings, redis_health
from leaseforge_api.schemas.events import (
    EventTopic,
    GoneEvent,
    SyncedEvent,
    job_event,
    operation_event,
    queue_event,
    worker_event,
)
from leaseforge_api.schemas.values import instant
from leaseforge_console.live import Topic
from leaseforge_console.views.snapshot import Snapshot

KEPT = 1_000
"""What is told once (jobs that died, what is gone) is kept for streams that come back, the last of it."""
MOST_JOBS = 20
"""At most so many jobs of a queue in one reading; the counts of the queue tell of all."""
MOST_QUEUES = 50
"""In at most so many queues jobs are looked for in one reading."""
MOST_NOTICES = 100

_NAMES = {
    EventTopic.QUEUES: "queue",
    EventTopic.JOBS: "job",
    EventTopic.WORKERS: "worker",
    EventTopic.OPERATIONS: "operation",
    EventTopic.NOTICES: "notice",
}


@dataclass(frozen=True, slots=True)
class _Told:
    """One event, and the number of the reading that found it."""

    number: int
    topic: EventTopic
    text: bytes


class EventFeed:
    """The latest of everything by topic and key. `topic` is what the poller reads while anybody listens."""

    def __init__(self) -> None:
        self._run = secrets.token_hex(6)
        self._number = 0
        self._forgotten = 0
        self._latest: dict[tuple[EventTopic, str], _Told] = {}
        self._once: deque[_Told] = deque()
        self._deaths: dict[str, tuple[int, int]] = {}
        self._at = datetime.now(UTC)
        self.topic = Topic(self._read, loop="events")

    @property
    def number(self) -> int:
        """The last reading that found a change."""
        return self._number

    def number_of(self, last_event_id: str | None) -> int:
        """Where a stream that comes back goes on; 0, the beginning, when that is not known here any more."""
        run, _, number = (last_event_id or "").partition("-")
        known = int(number) if run == self._run and number.isascii() and number.isdigit() and len(number) < 16 else 0
        return known if self._forgotten <= known <= self._number else 0

    def events_since(self, number: int, topics: Sequence[EventTopic]) -> Iterator[bytes]:
        """Every event of these topics a later reading has found, then the mark that all was told.

        Whoever is too far behind for what was told once (`number` 0) is told all there is now.
        """
        if number:
            yield from (told.text for told in self._once if told.number > number and told.topic in topics)
        yield from (told.text for told in self._latest.values() if told.number > number and told.topic in topics)
        mark = f"id: {self._run}-{self._number}\n".encode()
        yield mark + event_text("synced", SyncedEvent(instant(self._at)))

    def is_behind(self, number: int) -> bool:
        """Whether something a stream at this reading has not told yet is forgotten already."""
        return number < self._forgotten

    async def _read(self, store: Store, snapshot: Snapshot, /, *_: Any) -> int:
        operations = await store.run(bulk.operations(limit=MAX_PAGE))
        redis = redis_health(await store.info(), latency_ms=0.0)
        died = await self._died(store, snapshot.queues)
        all_notices = findings(redis, snapshot.queues, snapshot.workers, snapshot.foreign_keys)
        notices = list(islice(all_notices, MOST_NOTICES))
        found: dict[tuple[EventTopic, str], Any] = {}
        found |= {(EventTopic.QUEUES, info.name): queue_event(info) for info in snapshot.queues}
        found |= {(EventTopic.WORKERS, info.id): worker_event(info) for info in snapshot.workers}
        found |= {(EventTopic.OPERATIONS, one.id): operation_event(one) for one in operations.items}
        found |= {(EventTopic.NOTICES, ":".join((one.kind, one.queue or one.worker or ""))): one for one in notices}
        self._note(found, died, snapshot.now)
        return self._number

    async def _died(self, store: Store, queues: Sequence[QueueInfo]) -> list[Any]:
        """The jobs that died since the reading before; of a queue that is new here only its count is noted."""
        before, self._deaths = self._deaths, {one.name: (one.totals.get("dead", 0), one.as_of_ms) for one in queues}
        more = [
            (one.name, one.totals.get("dead", 0) - before[one.name][0], before[one.name][1])
            for one in queues
            if one.name in before and one.totals.get("dead", 0) > before[one.name][0]
        ]
        events = []
        for name, count, since_ms in more[:MOST_QUEUES]:
            page = await store.run(reads.jobs(name, JobState.DEAD, limit=min(count, MOST_JOBS)))
            since = datetime.fromtimestamp(since_ms / 1000, UTC)
            events += [job_event(job) for job in reversed(page.items) if job.finished_at and job.finished_at >= since]
        return events

    def _note(self, found: dict[tuple[EventTopic, str], Any], died: Sequence[Any], at: datetime) -> None:
        number = self._number + 1
        once = [_Told(number, EventTopic.JOBS, event_text("job", one)) for one in died]
        for topic, key in [place for place in self._latest if place not in found]:
            del self._latest[topic, key]
            once.append(_Told(number, topic, event_text("gone", GoneEvent(_NAMES[topic], key))))
        changed = False
        for place, one in found.items():
            text = event_text(_NAMES[place[0]], one)
            known = self._latest.get(place)
            if known is None or known.text != text:
                self._latest[place] = _Told(number, place[0], text)
                changed = True
        if not (changed or once) and self._number:
            return
        self._number, self._at = number, at
        self._once.extend(once)
        while len(self._once) > KEPT:
            self._forgotten = max(self._forgotten, self._once.popleft().number)


# JSON may hold them as they are, and so may an event, but many clients take them for the end of a line.
_LINE_ENDS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_TO_ESCAPES = str.maketrans(_LINE_ENDS)


def event_text(name: str, value: Any) -> bytes:
    """One event as it is sent; its data is JSON on one line."""
    data = msgspec.json.encode(value).decode().translate(_TO_ESCAPES)
    return f"event: {name}\ndata: {data}\n\n".encode()
