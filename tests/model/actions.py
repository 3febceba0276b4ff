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


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt may end. `old` picks any token ever given, else it is one of a running job."""

    pick: int
    old: bool
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
    queue: str
    worker: str
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
    """What an attempt says while it runs. Each of `held` picks a running job, or any token ever given."""

    kind: Literal["renew", "progress", "log"]
    queue: str
    held: tuple[tuple[int, bool], ...]
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
    """Time passes, sweeps of both queues between if `swept`."""

    steps: int
    swept: bool


@dataclass(frozen=True, slots=True)
class Operate:
    kind: Literal["retry", "requeue", "cancel", "delete"]
    pick: int
    state: JobState | None
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
    kind: Literal["crash", "scripts gone", "full", "room again", "wake token lost"]
    queue: str
    worker: str


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
_OLD = st.sampled_from([False, False, False, True])


_FITTING: Mapping[str, Sequence[JobState | None]] = {
    "retry": (JobState.DEAD, JobState.DEAD, JobState.DEAD, None),
    "requeue": (JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD, None),
    "cancel": (JobState.RUNNING, JobState.READY, JobState.SCHEDULED, JobState.RETRYING, None),
    "delete": (*JobState, None),
}
"""Jobs an operator's action is mostly meant for; None for any job, one that is gone included."""


def _some(strategy: st.SearchStrategy[Any], low: int, high: int) -> st.SearchStrategy[Any]:
    return st.lists(strategy, min_size=low, max_size=high).map(tuple)


_ORDER = st.builds(
    Order,
    type=st.sampled_from("ab"),
    priority=st.sampled_from([0, 0, 0, 1, -1, 2**31 - 1]),
    delay_ms=st.sampled_from([0, 0, 0, GRID_MS, 6 * GRID_MS]),
    at_ms=st.sampled_from([None, None, None, -GRID_MS, 0, 2 * GRID_MS]),
    unique=st.sampled_from([None, None, None, None, "u1", "u2"]),
    unique_ttl_ms=st.sampled_from([86_400_000, 3 * GRID_MS]),
    idem=st.sampled_from([None, None, None, None, "i1", "i2"]),
    max_attempts=st.sampled_from([None, 0, 1, 2]),
    created_by=st.sampled_from([None, None, "ada"]),
)
_ENDING = st.builds(
    Ending,
    pick=_PICK,
    old=_OLD,
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
        want=st.integers(*want),
        lease_ms=_LEASE,
        endings=_some(_ENDING, *endings),
        times=_TIMES,
    )


_WEIGHTED: Sequence[tuple[int, st.SearchStrategy[Any]]] = (
    (5, st.builds(Enqueue, queue=_QUEUE, orders=_some(_ORDER, 1, 3), times=_TIMES)),
    (
        1,
        st.builds(EnqueueAgain, pick=_PICK, how=st.sampled_from(["request", "key", "key and another body"])),
    ),
    (6, _exchange((1, 3), (0, 0))),
    (6, _exchange((0, 2), (1, 3))),
    (1, st.builds(OldExchange, pick=_PICK, want=st.integers(0, 3), lease_ms=_LEASE)),
    (
        3,
        st.builds(
            Beat,
            kind=st.sampled_from(["renew", "progress", "log"]),
            queue=_QUEUE,
            held=_some(st.tuples(_PICK, _OLD), 1, 3),
            number=st.integers(1, 3),
            times=_TIMES,
        ),
    ),
    (
        3,
        st.builds(
            Sweep,
            kind=st.sampled_from(["tick", "tick", "promote", "recover", "recover", "trim", "trim"]),
            queue=_QUEUE,
            limit=_LIMIT,
            number=st.integers(0, 2),
        ),
    ),
    (3, st.builds(PassTime, steps=st.sampled_from([2, 7, 7, 13]), swept=st.just(True))),
    (
        2,
        st.builds(
            PassTime, steps=st.sampled_from([1, 1, 2, 3, 7, 13, 61, 800, 8641, 8641 * 91, -1, -3]), swept=st.just(False)
        ),
    ),
    (
        5,
        st.sampled_from(["retry", "retry", "requeue", "cancel", "cancel", "delete"]).flatmap(
            lambda kind: st.builds(
                Operate,
                kind=st.just(kind),
                pick=_PICK,
                state=st.sampled_from(_FITTING[kind]),
                repeats=_OLD,
                payload=st.sampled_from([None, b"{}", b"x" * 20_000]),
                times=_TIMES,
            )
        ),
    ),
    (
        2,
        st.builds(
            Switch,
            kind=st.sampled_from(["pause", "resume", "resume", "configure", "configure"]),
            queue=_QUEUE,
            changes=_CHANGES,
            times=_TIMES,
        ),
    ),
    (1, st.builds(Look, queue=_QUEUE, state=_STATE)),
    (1, st.builds(Purge, queue=_QUEUE, pick=st.integers(0, 3), times=_TIMES)),
    (2, st.builds(Forward, queue=_QUEUE, limit=st.sampled_from([50, 1]), stops_after=st.sampled_from([9, 9, 1, 2, 3]))),
    (
        2,
        st.builds(
            Mishap,
            kind=st.sampled_from(["crash", "scripts gone", "full", "room again", "room again", "wake token lost"]),
            queue=_QUEUE,
            worker=_WORKER,
        ),
    ),
)

ACTIONS: st.SearchStrategy[Action] = st.sampled_from(
    [index for index, (weight, _) in enumerate(_WEIGHTED) for _ in range(weight)]
).flatmap(lambda index: _WEIGHTED[index][1])
