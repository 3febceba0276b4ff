"""What producers, workers, sweeps, operators and mishap may do to the queues of a model test, as data that is drawn.

One strategy draws them all with fixed weights, so that most examples get far into the life of their jobs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.model.clockwork import GRID_MS

LINE, SIDE, NOWHERE = "line", "side", "sys"
"""Two queues that work, and a name that is none: what is meant for it is refused for good."""

LEASES_MS = (60_000, 120_000)
APT: Mapping[str, frozenset[JobState]] = {
    "retry": frozenset({JobState.DEAD}),
    "requeue": frozenset({JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD}),
    "cancel": frozenset({JobState.SCHEDULED, JobState.READY, JobState.RUNNING, JobState.RETRYING}),
    "promote": frozenset({JobState.SCHEDULED, JobState.RETRYING}),
    "delete": frozenset(JobState) - {JobState.RUNNING},
}
"""The states of the jobs that operators mostly mean."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a producer may ask for. `at_ms` counts from now."""

    type: str = "a"
    priority: int = 0
    delay_ms: int = 0
    at_ms: int | None = None
    unique: str | None = None
    unique_ttl_ms: int = 86_400_000
    idem: str | None = None
    max_attempts: int | None = None
    created_by: str | None = None


Whose = Literal["own", "zombie", "any"]
"""A running job under its token; a job that goes on without the token's owner, or runs again; any token ever given."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt may end, and which."""

    pick: int
    whose: Whose
    outcome: Outcome
    delay_ms: int
    permanent: str
    timed_out: bool
    result: bytes
    follow_ups: tuple[tuple[str, Order], ...]


@dataclass(frozen=True, slots=True)
class Enqueue:
    queue: str
    orders: tuple[Order, ...]
    times: int


@dataclass(frozen=True, slots=True)
class EnqueueAgain:
    """An earlier request: the very same one, another id with the same key and body, or with another body."""

    pick: int
    how: Literal["request", "key", "key and another body"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """`woken`: the worker has taken the wake token first, as one that waited does."""

    queue: str
    worker: str
    woken: bool
    want: int
    lease_ms: int
    endings: tuple[Ending, ...]
    times: int


@dataclass(frozen=True, slots=True)
class OldExchange:
    """A number that was used before comes again, perhaps of a process that is long gone."""

    pick: int
    want: int
    lease_ms: int


@dataclass(frozen=True, slots=True)
class Beat:
    """What attempts say while they run: all renew, the first one tells its progress and logs lines."""

    queue: str
    held: tuple[tuple[int, Whose], ...]
    number: int
    times: int


@dataclass(frozen=True, slots=True)
class Sweep:
    kind: Literal["tick", "promote", "recover", "trim"]
    queue: str
    limit: int
    number: int


@dataclass(frozen=True, slots=True)
class PassTime:
    """Time passes, sweeps of both queues between if `swept`; a worker may claim and never be heard of again."""

    steps: int
    swept: bool
    lost_claims: bool


@dataclass(frozen=True, slots=True)
class Operate:
    """`apt` picks a job that the action is meant for, else it is any ever asked for, one that is gone included."""

    kind: Literal["retry", "requeue", "cancel", "promote", "delete"]
    pick: int
    apt: bool
    repeats: bool
    payload: bytes | None
    times: int


@dataclass(frozen=True, slots=True)
class Switch:
    kind: Literal["pause", "resume", "configure"]
    queue: str
    changes: tuple[tuple[str, float | None], ...]
    times: int


@dataclass(frozen=True, slots=True)
class Look:
    queue: str
    state: JobState


@dataclass(frozen=True, slots=True)
class Purge:
    """What an operator was shown just now, or at some earlier look, is purged."""

    queue: str
    pick: int
    times: int


@dataclass(frozen=True, slots=True)
class Forward:
    """A round over the outbox. The process dies after so many calls."""

    queue: str
    limit: int
    stops_after: int


@dataclass(frozen=True, slots=True)
class Mishap:
    """`full` lasts for a few actions."""

    kind: Literal["crash", "scripts gone", "full", "wake token lost"]
    queue: str
    worker: str
    lasts: int


Action = (
    Enqueue
    | EnqueueAgain
    | Exchange
    | OldExchange
    | Beat
    | Sweep
    | PassTime
    | Operate
    | Switch
    | Look
    | Purge
    | Forward
    | Mishap
)

_QUEUE = st.sampled_from([LINE, LINE, LINE, LINE, SIDE])
_WORKER = st.sampled_from(["w1", "w2"])
_TIMES = st.sampled_from([1, 1, 2])
_PICK = st.integers(0, 30)
_LIMIT = st.sampled_from([200, 200, 1, 2])
_LEASE = st.sampled_from([LEASES_MS[0], LEASES_MS[0], LEASES_MS[0], LEASES_MS[1]])
_STATE = st.sampled_from(list(JobState))
_SELDOM = st.sampled_from([False, False, False, True])
_WHOSE: st.SearchStrategy[Whose] = st.sampled_from(["own", "own", "own", "own", "zombie", "zombie", "any"])


def _some(strategy: st.SearchStrategy[Any], low: int, high: int) -> st.SearchStrategy[Any]:
    return st.lists(strategy, min_size=low, max_size=high).map(tuple)


_ORDER = st.builds(
    Order,
    type=st.sampled_from("ab"),
    priority=st.sampled_from([0, 0, 0, 1, -1, 2**31 - 1]),
    delay_ms=st.sampled_from([0, 0, 0, 0, 0, GRID_MS, 6 * GRID_MS]),
    at_ms=st.sampled_from([None, None, None, None, -GRID_MS, 0, 2 * GRID_MS]),
    unique=st.sampled_from([None, None, None, None, None, "u1", "u2", "u3", "u4"]),
    unique_ttl_ms=st.sampled_from([86_400_000, 3 * GRID_MS]),
    idem=st.sampled_from([None, None, None, None, "i1", "i2"]),
    max_attempts=st.sampled_from([None, 0, 1, 2]),
    created_by=st.sampled_from([None, None, "ada"]),
)
_ENDING = st.builds(
    Ending,
    pick=_PICK,
    whose=_WHOSE,
    outcome=st.sampled_from([Outcome.COMPLETE, Outcome.COMPLETE, Outcome.FAIL, Outcome.FAIL, *Outcome]),
    delay_ms=st.sampled_from([0, GRID_MS, 3 * GRID_MS]),
    permanent=st.sampled_from(["", "", "", "bad_payload"]),
    timed_out=st.sampled_from([False, False, True]),
    result=st.sampled_from([b"", b"done"]),
    follow_ups=_some(st.tuples(st.sampled_from([LINE, LINE, SIDE, SIDE, SIDE, NOWHERE]), _ORDER), 0, 2),
)
_CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "max_running": st.sampled_from([None, 1, 2]),
        "rate": st.sampled_from([None, 0.1, 0.05]),
        "burst": st.sampled_from([None, 1, 2]),
        "keep_ms": st.sampled_from([None, 60_000, 300_000]),
        "keep": st.sampled_from([None, 0, 1, 2]),
        "dead_keep_ms": st.sampled_from([None, 60_000, 300_000]),
        "dead_keep": st.sampled_from([None, 0, 1, 2]),
    },
).map(lambda changes: tuple(sorted(changes.items())))


def _exchange(want: tuple[int, int], endings: tuple[int, int]) -> st.SearchStrategy[Exchange]:
    return st.builds(
        Exchange,
        queue=_QUEUE,
        worker=_WORKER,
        woken=st.booleans(),
        want=st.integers(*want),
        lease_ms=_LEASE,
        endings=_some(_ENDING, *endings),
        times=_TIMES,
    )


_ENQUEUE = st.builds(Enqueue, queue=_QUEUE, orders=_some(_ORDER, 1, 4), times=_TIMES)
_AGAIN = st.builds(EnqueueAgain, pick=_PICK, how=st.sampled_from(["request", "key", "key and another body"]))
_OLD_EXCHANGE = st.builds(OldExchange, pick=_PICK, want=st.integers(0, 3), lease_ms=_LEASE)
_BEAT = st.builds(
    Beat,
    queue=_QUEUE,
    held=_some(st.tuples(_PICK, _WHOSE), 1, 3),
    number=st.integers(1, 3),
    times=_TIMES,
)
_SWEEP = st.builds(
    Sweep,
    kind=st.sampled_from(["tick", "tick", "promote", "recover", "recover", "trim", "trim"]),
    queue=_QUEUE,
    limit=_LIMIT,
    number=st.integers(0, 2),
)
_SWEPT_TIME = st.builds(PassTime, steps=st.sampled_from([2, 2, 7, 13]), swept=st.just(True), lost_claims=st.just(False))
_TIME = st.builds(
    PassTime,
    steps=st.sampled_from([1, 1, 2, 3, 7, 13, 61, 800, 8641, 8641 * 91, -1, -3]),
    swept=st.just(False),
    lost_claims=st.just(False),
)
_POISON = st.builds(PassTime, steps=st.just(25), swept=st.just(True), lost_claims=st.just(True))
_OPERATE = st.builds(
    Operate,
    kind=st.sampled_from(["retry", "retry", "requeue", "requeue", "cancel", "cancel", "promote", "delete"]),
    pick=_PICK,
    apt=st.sampled_from([True, True, True, False]),
    repeats=_SELDOM,
    payload=st.sampled_from([None, b"{}", b"x" * 20_000]),
    times=_TIMES,
)
_SWITCH = st.builds(
    Switch,
    kind=st.sampled_from(["pause", "resume", "resume", "configure", "configure", "configure"]),
    queue=_QUEUE,
    changes=_CHANGES,
    times=_TIMES,
)
_LOOK = st.builds(Look, queue=_QUEUE, state=_STATE)
_PURGE = st.builds(Purge, queue=_QUEUE, pick=st.integers(0, 3), times=_TIMES)
_FORWARD = st.builds(
    Forward, queue=_QUEUE, limit=st.sampled_from([50, 1]), stops_after=st.sampled_from([9, 9, 1, 2, 3])
)
_MISHAP = st.builds(
    Mishap,
    kind=st.sampled_from(["crash", "scripts gone", "full", "wake token lost", "wake token lost"]),
    queue=_QUEUE,
    worker=_WORKER,
    lasts=st.integers(2, 6),
)

_WEIGHTED: Sequence[tuple[int, st.SearchStrategy[Any]]] = (
    (10, _ENQUEUE),
    (2, _AGAIN),
    (12, _exchange((1, 3), (0, 0))),
    (14, _exchange((0, 2), (1, 3))),
    (2, _OLD_EXCHANGE),
    (5, _BEAT),
    (6, _SWEEP),
    (5, _SWEPT_TIME),
    (4, _TIME),
    (1, _POISON),
    (10, _OPERATE),
    (3, _SWITCH),
    (2, _LOOK),
    (1, _PURGE),
    (4, _FORWARD),
    (4, _MISHAP),
)

FIRST: st.SearchStrategy[Action] = st.builds(Enqueue, queue=st.just(LINE), orders=_some(_ORDER, 2, 5), times=st.just(1))
"""What every example begins with."""

ACTIONS: st.SearchStrategy[Action] = st.sampled_from(
    [index for index, (weight, _) in enumerate(_WEIGHTED) for _ in range(weight)]
).flatmap(lambda index: _WEIGHTED[index][1])
