"""Looks for jobs over queues and states: a page at a time, each at a bounded price, however many jobs there are.

What no set answers by itself is found by looking at records, at most 5,000 a page: a page may hold
little and still lead on.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, nsmallest
from math import isfinite

from leaseforge import limits, reads
from leaseforge.calls import Batch, Plan
from leaseforge.errors import BadInput, FieldProblem, QueueNotFound
from leaseforge.filters import Filter, checked
from leaseforge.jobs import Job, JobState
from leaseforge.keys import queue_key
from leaseforge.queues import QueueInfo
from leaseforge.search_calls import Looked, Match, Spot, heads_call, search_call, sizes_call

BANDS: tuple[tuple[JobState, ...], ...] = (
    (JobState.RUNNING,),
    (JobState.READY,),
    (JobState.SCHEDULED, JobState.RETRYING),
    (JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD),
)
"""One after another; inside each the jobs of all queues and states are merged by what its sets are sorted by."""

_FIRST_LOOKS = 1000
"""Records looked at in a band's first round, over all its sets together; one of each at least."""
_TOGETHER = 16
"""Sets that are looked at further in one trip: the one whose turn it is, and those that are likely to be next."""


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


_Order = tuple[float, bytes]
"""Places of a band, in the order of its list."""


@dataclass(slots=True)
class _Source:
    """One set that is walked: what was found and not given out yet, and up to where it was looked at."""

    queue: str
    state: JobState
    key: str
    look: int
    found: deque[Match] = field(default_factory=deque)
    spot: Spot | None = None
    is_over: bool = False

    def head(self) -> Spot | None:
        """Nothing before this is left in it; None if nothing is left at all."""
        if self.found:
            return self.found[0].spot
        return None if self.is_over else self.spot

    def take(self, looked: Looked, stop: float | None) -> None:
        """Adds what a call found. Behind the score `stop` nothing can match."""
        self.found.extend(looked.found)
        self.spot = looked.spot or self.spot
        passed = stop is not None and self.spot is not None and self.spot.passed(stop, self.state)
        self.is_over = looked.ends or looked.spot is None or passed

    def forget(self) -> None:
        """Nothing was looked at."""
        self.found.clear()
        self.is_over = False


@dataclass(slots=True)
class _Page:
    limit: int
    is_exact: bool
    items: list[Job] = field(default_factory=list)
    searched: int = 0

    @property
    def left(self) -> int:
        return self.limit - len(self.items)

    def may_look(self) -> int:
        """How many more records may be looked at for this page."""
        return self.left * _TOGETHER if self.is_exact else limits.MAX_SEARCHED - self.searched


def search(
    asked: Filter, *, place: str | None = None, limit: int = 50, infos: Sequence[QueueInfo] | None = None
) -> Plan[Found]:
    """The page of matching jobs that starts at `place` (`next` of the one before), without payloads.

    Running jobs by lease expiry, then ready ones in claim order, scheduled and retrying ones by due time,
    ended ones newest first. Jobs that change meanwhile may be seen twice or not at all; all others
    exactly once. `infos` are all queues as they were read just now, if they were: sizes need not be read again.
    Raises BadInput, and QueueNotFound for a queue asked for by name.
    """
    checked(asked)
    reads.check_page(0, limit)
    band, behind = _read_place(place)
    bands, size, as_of_ms = yield from _bands(asked, infos)
    page = _Page(limit, asked.is_exact)
    following: str | None = None
    for number in range(band, len(BANDS)):
        if bands[number]:
            spot = yield from _walk(asked, bands[number], behind, page)
            if spot is not None:
                following = _write_place(number, spot)
                break
        behind = None
        if page.left == 0 or page.may_look() <= 0:
            if any(bands[number + 1 :]):
                following = _write_place(number + 1, None)
            break
    return Found(
        items=tuple(page.items),
        total=size if asked.is_exact else None,
        searched=page.searched,
        of=size,
        next=following,
        as_of_ms=as_of_ms,
    )


def _bands(asked: Filter, infos: Sequence[QueueInfo] | None) -> Plan[tuple[list[list[_Source]], int, int]]:
    """The sets that hold anything, by band; how many jobs are in them, and since when that may have changed."""
    states = asked.possible_states
    sets = {state: f"dead:group:{asked.group}" if asked.group is not None else state.value for state in states}
    if infos is None or asked.group is not None:
        counted = yield from _sizes(asked, list(sets.values()))
    else:
        wanted = [info for info in infos if asked.queue in (None, info.name)]
        counted = {info.name: (info.as_of_ms, [info.counts[state] for state in states]) for info in wanted}
    if asked.queue is not None and not counted:
        raise QueueNotFound(asked.queue)
    found: dict[JobState, list[_Source]] = {state: [] for state in states}
    for name, (_, sizes) in counted.items():
        for (state, kept), size in zip(sets.items(), sizes, strict=True):
            if size:
                found[state].append(_Source(name, state, queue_key(name, kept), 0))
    bands = [[source for state in states if state in band for source in found[state]] for band in BANDS]
    total = sum(sum(sizes) for _, sizes in counted.values())
    return bands, total, min((moment for moment, _ in counted.values()), default=0)


def _sizes(asked: Filter, sets: Sequence[str]) -> Plan[dict[str, tuple[int, list[int]]]]:
    """Of each queue that is asked for and that there is: when it was looked at, and how large these sets were."""
    names = [asked.queue] if asked.queue is not None else (yield from reads.readable(reads.queue_names(), []))
    answers = yield from Batch([sizes_call(name, sets) for name in names])
    return {name: answer for name, answer in zip(names, answers, strict=True) if answer is not None}


def _walk(asked: Filter, sources: Sequence[_Source], behind: Spot | None, page: _Page) -> Plan[Spot | None]:
    """Fills the page from one band; where it goes on, None if all of the band was looked at."""
    if page.is_exact and behind is None and asked.group is None and len(sources) > 2 * page.left:
        near, cut = yield from _nearest(sources, page.left)
        behind = yield from _walk_through(asked, near, None, page, cut)
        if cut is None or page.left == 0:
            return behind
        # Jobs have left these sets since: what else there is has its turn.
        for source in near:
            source.forget()
    return (yield from _walk_through(asked, sources, behind, page))


def _nearest(sources: Sequence[_Source], count: int) -> Plan[tuple[list[_Source], _Order | None]]:
    """Of many sets the ones that give the first `count` jobs, and before which place no other has any.

    Each of the nearest gives one at least; so one whose first job stands behind theirs gives none.
    """
    by_queue: dict[str, list[_Source]] = {}
    for source in sources:
        by_queue.setdefault(source.queue, []).append(source)
    calls = [heads_call(queue, [source.state for source in group]) for queue, group in by_queue.items()]
    found = yield from Batch(calls)
    in_order = [source for group in by_queue.values() for source in group]
    first = [head for part in found for head in part]
    heads = [
        (head.order(source.state), number)
        for number, (source, head) in enumerate(zip(in_order, first, strict=True))
        if head is not None
    ]
    nearest = nsmallest(count + 1, heads)
    cut = nearest[count][0] if len(nearest) > count else None
    return [in_order[number] for _, number in nearest[:count]], cut


def _walk_through(
    asked: Filter, sources: Sequence[_Source], behind: Spot | None, page: _Page, cut: _Order | None = None
) -> Plan[Spot | None]:
    """The same from these sets alone, up to the place `cut` at most; then it is told where it stopped."""
    for source in sources:
        source.look, source.spot = _first_look(len(sources), page), _start(asked, source.state, behind)
    yield from _look(asked, sources, page)
    heads: list[_Head] = []
    _enter(heads, sources, range(len(sources)))
    last = behind
    while heads and (cut is None or heads[0][0] <= cut):
        source = sources[heads[0][1]]
        if page.left == 0:
            return last
        if source.found:
            match = source.found.popleft()
            last = match.spot
            page.items.append(match.job(source.queue, source.state))
            _enter(heads, sources, [heappop(heads)[1]])
        elif page.may_look() <= 0:
            return source.spot
        else:
            numbers = _take_dry(heads, sources)
            _bound(dry := [sources[number] for number in numbers], page.may_look())
            yield from _look(asked, dry, page)
            _enter(heads, sources, numbers)
    return None if cut is None else last


_Head = tuple[_Order, int]
"""Before which place nothing is left in a set, and the set's number."""


def _enter(heads: list[_Head], sources: Sequence[_Source], numbers: Iterable[int]) -> None:
    for number in numbers:
        if (head := sources[number].head()) is not None:
            heappush(heads, (head.order(sources[number].state), number))


def _take_dry(heads: list[_Head], sources: Sequence[_Source]) -> list[int]:
    """Takes out those that are to be looked at further: the first one, and what is likely to come next."""
    dry = [entry for entry in nsmallest(4 * _TOGETHER, heads) if not sources[entry[1]].found][:_TOGETHER]
    taken = {number for _, number in dry}
    heads[:] = [entry for entry in heads if entry[1] not in taken]
    heapify(heads)
    return [number for _, number in dry]


def _bound(sources: Sequence[_Source], left: int) -> None:
    """Lets a round look at no more than `left` records; those at the end that get none are where they were."""
    for source in sources:
        source.look = min(max(1, 2 * source.look), limits.CHUNK, left)
        left -= source.look


def _look(asked: Filter, sources: Sequence[_Source], page: _Page) -> Plan[None]:
    """Looks at the next records of some sets, together."""
    looking = [source for source in sources if source.look > 0]
    # Of each only its likely share of the page: records of matches are what costs most.
    want = min(page.left, max(2, 2 * page.left // max(1, len(looking))))
    calls = [
        search_call(source.queue, source.key, source.state, asked, source.spot, source.look, want) for source in looking
    ]
    for source, looked in zip(looking, (yield from Batch(calls)), strict=True):
        page.searched += looked.looked
        source.take(looked, asked.last_score(source.state))


def _first_look(sources: int, page: _Page) -> int:
    if page.is_exact:
        return min(page.left, max(2, 2 * page.left // sources))
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
