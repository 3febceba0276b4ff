"""Looks for jobs over queues and states: a page at a time, each at a bounded price, however many jobs there are.

What no set answers by itself is found by looking at records, at most 5,000 a page: a page may hold
little and still lead on.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite

from leaseforge import limits, reads
from leaseforge.calls import Batch, Plan
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.filters import Filter, checked
from leaseforge.jobs import Job, JobState
from leaseforge.keys import queue_key
from leaseforge.queues import QueueInfo
from leaseforge.search_calls import Looked, Spot, search_call

BANDS: tuple[tuple[JobState, ...], ...] = (
    (JobState.RUNNING,),
    (JobState.READY,),
    (JobState.SCHEDULED, JobState.RETRYING),
    (JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD),
)
"""One after another; inside each the jobs of all queues and states are merged by what its sets are sorted by."""

_FIRST_LOOKS = 1000
"""Records looked at in a band's first round, over all its sets together."""


@dataclass(frozen=True, slots=True)
class Found:
    """One page: what matched, and how far was looked.

    `total` is exact where sets answer alone (queue, state, error group), else None: then `searched` of
    `of` jobs were looked at for this page. `next` is where the following page starts, None behind the
    end. No queue was read before `as_of_ms` (Redis time).
    """

    items: tuple[Job, ...]
    total: int | None
    searched: int
    of: int
    next: str | None
    as_of_ms: int


@dataclass(slots=True)
class _Source:
    """One set that is walked: what was found and not given out yet, and up to where it was looked at."""

    queue: str
    state: JobState
    key: str
    size: int
    found: deque[tuple[Spot, Job]] = field(default_factory=deque)
    spot: Spot | None = None
    is_over: bool = False

    def head(self) -> Spot | None:
        """Nothing before this is left in it; None if nothing is left at all."""
        if self.found:
            return self.found[0][0]
        return None if self.is_over else self.spot

    def take(self, looked: Looked, stop: float | None) -> None:
        """Adds what a call found. Behind the score `stop` nothing can match."""
        self.found.extend(looked.found)
        self.size = looked.size
        self.spot = looked.spot or self.spot
        passed = stop is not None and self.spot is not None and self.spot.passed(stop, self.state)
        self.is_over = looked.ends or looked.spot is None or passed


@dataclass(slots=True)
class _Page:
    limit: int
    items: list[Job] = field(default_factory=list)
    searched: int = 0

    @property
    def left(self) -> int:
        return self.limit - len(self.items)

    def may_look(self, is_exact: bool) -> int:
        """How many more records may be looked at for this page."""
        return limits.CHUNK if is_exact else min(limits.CHUNK, limits.MAX_SEARCHED - self.searched)


def search(asked: Filter, *, place: str | None = None, limit: int = 50) -> Plan[Found]:
    """The page of matching jobs that starts at `place` (`next` of the one before), without payloads.

    Running jobs by lease expiry, then ready ones in claim order, scheduled and retrying ones by due time,
    ended ones newest first. Jobs that change meanwhile may be seen twice or not at all; all others
    exactly once. Raises BadInput, and QueueNotFound for a queue asked for by name.
    """
    checked(asked)
    reads.check_page(0, limit)
    band, behind = _read_place(place)
    infos = [(yield from reads.queue(asked.queue))] if asked.queue is not None else (yield from reads.queues())
    page = _Page(limit)
    following: str | None = None
    bands = [_sources(asked, infos, states) for states in BANDS]
    for number in range(band, len(BANDS)):
        if bands[number]:
            spot = yield from _walk(asked, bands[number], behind, page)
            if spot is not None:
                following = _write_place(number, spot)
                break
        behind = None
        if page.left == 0 or page.may_look(asked.is_exact) <= 0:
            if any(bands[number + 1 :]):
                following = _write_place(number + 1, None)
            break
    size = sum(source.size for sources in bands for source in sources)
    return Found(
        items=tuple(page.items),
        total=size if asked.is_exact else None,
        searched=page.searched,
        of=size,
        next=following,
        as_of_ms=min((info.as_of_ms for info in infos), default=0),
    )


def _walk(asked: Filter, sources: Sequence[_Source], behind: Spot | None, page: _Page) -> Plan[Spot | None]:
    """Fills the page from one band; where it goes on, None if all of the band was looked at."""
    states = {source.state for source in sources}
    stops = {state: asked.last_score(state) for state in states}
    look = _first_look(asked, len(sources), page)
    calls = [
        search_call(source.queue, source.key, source.state, asked, _start(asked, source.state, behind), look, page.left)
        for source in sources
    ]
    for source, looked in zip(sources, (yield from Batch(calls)), strict=True):
        page.searched += looked.looked
        source.take(looked, stops[source.state])
    last = behind
    while True:
        open_ones = [(head, source) for source in sources if (head := source.head()) is not None]
        if not open_ones:
            return None
        head, source = min(open_ones, key=lambda one: one[0].order(one[1].state))
        if page.left == 0:
            return last
        if source.found:
            last, job = source.found.popleft()
            page.items.append(job)
            continue
        look = page.may_look(asked.is_exact)
        if look <= 0:
            return head
        look = min(look, page.left) if asked.is_exact else look
        looked = yield from search_call(source.queue, source.key, source.state, asked, source.spot, look, page.left)
        page.searched += looked.looked
        source.take(looked, stops[source.state])


def _sources(asked: Filter, infos: Sequence[QueueInfo], states: Sequence[JobState]) -> list[_Source]:
    """The sets of a band that hold anything."""
    wanted = [state for state in states if state in asked.states]
    found = []
    for info in infos:
        for state in wanted:
            if info.counts[state]:
                name = f"dead:group:{asked.group}" if asked.group is not None else state.value
                size = 0 if asked.group is not None else info.counts[state]
                found.append(_Source(info.name, state, queue_key(info.name, name), size))
    return found


def _first_look(asked: Filter, sources: int, page: _Page) -> int:
    if asked.is_exact:
        return max(1, min(page.left, -(-2 * page.left // sources)))
    return max(1, min(limits.CHUNK, _FIRST_LOOKS // sources))


def _start(asked: Filter, state: JobState, behind: Spot | None) -> Spot | None:
    """Where to begin in a set: behind what was given out, and not before anything could match."""
    score = asked.first_score(state)
    if score is None:
        return behind
    first = Spot(str(score), b"")
    return first if behind is None or first.order(state) > behind.order(state) else behind


def _write_place(band: int, spot: Spot | None) -> str:
    return f"{band}" if spot is None else f"{band}:{spot.score}:{spot.member.hex()}"


def _read_place(place: str | None) -> tuple[int, Spot | None]:
    """The band and the spot a place names. Raises BadInput for what `search` did not write."""
    if place is None:
        return 0, None
    band, *rest = place.split(":")
    try:
        number = int(band)
        spot = Spot(rest[0], bytes.fromhex(rest[1])) if rest else None
        is_one = number in range(len(BANDS)) and len(rest) in (0, 2) and (spot is None or isfinite(float(spot.score)))
    except (ValueError, IndexError):
        is_one = False
    if not is_one:
        raise BadInput([FieldProblem("place", "is not one of this search")])
    return number, spot
