"""Every transition of a job as data: event and state -> state, on what conditions, what it answers and charges.

The search (search.py) walks it, docs/state-machine.md and the real scripts are compared with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where a job can be; `gone` is a job that was never stored or is no more."""

    GONE = "gone"
    SCHEDULED = "scheduled"
    READY = "ready"
    RUNNING = "running"
    RETRYING = "retrying"
    COMPLETED = "completed"
    DEAD = "dead"
    CANCELLED = "cancelled"


class Event(StrEnum):
    """What can happen to a job. `stop` is a worker's settlement `cancelled`; `adopt` is a claim sent again."""

    ENQUEUE = "enqueue"
    PROMOTE = "promote"
    PROMOTE_JOB = "promote_job"
    CLAIM = "claim"
    ADOPT = "adopt"
    RENEW = "renew"
    PROGRESS = "progress"
    COMPLETE = "complete"
    FAIL = "fail"
    CRASH = "crash"
    RELEASE = "release"
    STOP = "stop"
    RECOVER = "recover"
    CANCEL = "cancel"
    RETRY = "retry"
    REQUEUE = "requeue"
    DELETE = "delete"
    PURGE = "purge"
    PURGE_DEAD = "purge_dead"
    TRIM = "trim"


class When(StrEnum):
    """Conditions. Of each line exactly one is true of an event that asks for it."""

    NOW, LATER = "its time is now", "its time is later"
    OPEN, PAUSED = "queue open", "queue paused"
    CURRENT, SETTLED, STALE = "token of this claim", "token that settled it", "any other token"
    STOP_WANTED, NO_STOP = "asked to stop", "not asked to stop"
    PERMANENT, SPENT, LEFT = "permanent failure", "last failure allowed", "failures left"
    LEASE_OVER, LEASE_HELD = "lease over", "lease held"
    FIRST_LOSS, LATER_LOSS, LAST_LOSS = "first crash or lost lease", "later one", "one too many"
    NEW_OPERATION, SAME_OPERATION = "new operation", "the operation it had last"


class Effect(StrEnum):
    """What a transition does beside moving the job."""

    NEW_TOKEN = "attempts + 1, a token of its own"
    NEW_LEASE = "the lease begins anew"
    SETTLE = "the token counts as settled"
    NO_TOKEN = "the token is void"
    FAILURE = "failures + 1"
    LOSS = "recoveries + 1"
    RELEASED = "releases + 1"
    ASK_STOP = "asked to stop"
    FORGET_STOP = "no longer asked to stop"
    NEW_BUDGETS = "replays + 1, failures and recoveries from 0"
    LAST_PLACE = "last in line"
    OLD_PLACE = "its old place in line"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `leaves` and `enters` are the sets the job is taken from and put into."""

    event: Event
    source: State
    when: frozenset[When]
    target: State
    answer: str
    effects: frozenset[Effect]
    leaves: State | None
    enters: State | None

    @property
    def changes(self) -> bool:
        """Whether it does anything."""
        return self.source != self.target or bool(self.effects)

    def __str__(self) -> str:
        conditions = ", ".join(sorted(self.when))
        return f"{self.event}: {self.source} -> {self.target}" + (f" ({conditions})" if conditions else "")


LIVE = (State.SCHEDULED, State.READY, State.RUNNING, State.RETRYING)
ENDED = (State.COMPLETED, State.CANCELLED, State.DEAD)
STORED = (*LIVE, *ENDED)
WAITING = (State.SCHEDULED, State.READY, State.RETRYING)
HAS_SETTLED = (State.READY, State.RUNNING, State.RETRYING, *ENDED)
"""States a job can be in after a token settled it."""

SETTLING = (Event.COMPLETE, Event.FAIL, Event.CRASH, Event.RELEASE, Event.STOP)


def _row(
    event: Event,
    source: State,
    target: State,
    answer: str,
    when: Iterable[When] = (),
    effects: Iterable[Effect] = (),
) -> Row:
    moves = source != target
    return Row(
        event,
        source,
        frozenset(when),
        target,
        answer,
        frozenset(effects),
        source if moves and source is not State.GONE else None,
        target if moves and target is not State.GONE else None,
    )


def _stays(event: Event, states: Iterable[State], answer: str, *when: When) -> list[Row]:
    return [_row(event, state, state, answer, when) for state in states]


def _into_store() -> list[Row]:
    return [
        _row(Event.ENQUEUE, State.GONE, State.READY, "created", [When.NOW], [Effect.LAST_PLACE]),
        _row(Event.ENQUEUE, State.GONE, State.SCHEDULED, "created", [When.LATER]),
        *_stays(Event.ENQUEUE, STORED, "duplicate"),
        _row(Event.PROMOTE, State.SCHEDULED, State.READY, "1", [When.NOW], [Effect.LAST_PLACE]),
        _row(Event.PROMOTE, State.RETRYING, State.READY, "1", [When.NOW], [Effect.LAST_PLACE]),
        *_stays(Event.PROMOTE, (State.SCHEDULED, State.RETRYING), "0", When.LATER),
    ]


def _under_token() -> list[Row]:
    ready, running = State.READY, State.RUNNING
    done = {Effect.SETTLE, Effect.FORGET_STOP}
    failed, released = done | {Effect.FAILURE}, done | {Effect.RELEASED, Effect.OLD_PLACE}
    crashed = done | {Effect.LOSS}
    held = When.CURRENT
    rows = [
        _row(Event.CLAIM, ready, running, "ok", [When.OPEN], [Effect.NEW_TOKEN, Effect.NEW_LEASE]),
        _row(Event.CLAIM, ready, ready, "paused", [When.PAUSED]),
        _row(Event.ADOPT, running, running, "already_done", [held], [Effect.NEW_LEASE]),
        _row(Event.RENEW, running, running, "ok", [held, When.NO_STOP], [Effect.NEW_LEASE]),
        _row(Event.RENEW, running, running, "cancelled", [held, When.STOP_WANTED], [Effect.NEW_LEASE]),
        _row(Event.PROGRESS, running, running, "ok", [held, When.NO_STOP]),
        _row(Event.PROGRESS, running, running, "cancelled", [held, When.STOP_WANTED]),
        _row(Event.COMPLETE, running, State.COMPLETED, "completed", [held], done),
        _row(Event.FAIL, running, State.DEAD, "dead", [held, When.PERMANENT], failed),
        _row(Event.FAIL, running, State.DEAD, "dead", [held, When.SPENT], failed),
        _row(Event.FAIL, running, State.RETRYING, "retrying", [held, When.LEFT, When.NO_STOP], failed),
        _row(Event.FAIL, running, State.CANCELLED, "cancelled", [held, When.LEFT, When.STOP_WANTED], failed),
        _row(Event.CRASH, running, State.RETRYING, "retrying", [held, When.NO_STOP, When.FIRST_LOSS], crashed),
        _row(Event.CRASH, running, State.RETRYING, "retrying", [held, When.NO_STOP, When.LATER_LOSS], crashed),
        _row(Event.CRASH, running, State.DEAD, "dead", [held, When.NO_STOP, When.LAST_LOSS], crashed),
        _row(Event.CRASH, running, State.CANCELLED, "cancelled", [held, When.STOP_WANTED], crashed),
        _row(Event.RELEASE, running, ready, "ready", [held, When.NO_STOP], released),
        _row(Event.RELEASE, running, State.CANCELLED, "cancelled", [held, When.STOP_WANTED], done),
        _row(Event.STOP, running, State.CANCELLED, "cancelled", [held], done),
    ]
    for event in (*SETTLING, Event.RENEW):
        rows += _stays(event, HAS_SETTLED, "already_done", When.SETTLED)
        rows += _stays(event, State, "fenced", When.STALE)
    rows += _stays(Event.PROGRESS, HAS_SETTLED, "fenced", When.SETTLED)
    rows += _stays(Event.PROGRESS, State, "fenced", When.STALE)
    return rows


def _swept() -> list[Row]:
    over, going_on = When.LEASE_OVER, When.NO_STOP
    lost = {Effect.NO_TOKEN, Effect.LOSS, Effect.FORGET_STOP}
    running = State.RUNNING
    return [
        _row(Event.RECOVER, running, State.CANCELLED, "0", [over, When.STOP_WANTED], lost),
        _row(Event.RECOVER, running, State.READY, "1", [over, going_on, When.FIRST_LOSS], lost | {Effect.OLD_PLACE}),
        _row(Event.RECOVER, running, State.RETRYING, "1", [over, going_on, When.LATER_LOSS], lost),
        _row(Event.RECOVER, running, State.DEAD, "0", [over, going_on, When.LAST_LOSS], lost),
        *_stays(Event.RECOVER, (running,), "0", When.LEASE_HELD),
        *(_row(Event.TRIM, state, State.GONE, "1") for state in ENDED),
    ]


def _operated() -> list[Row]:
    new, again = When.NEW_OPERATION, When.SAME_OPERATION
    rows = [
        *(_row(Event.CANCEL, state, State.CANCELLED, "ok", [new]) for state in WAITING),
        _row(Event.CANCEL, State.RUNNING, State.RUNNING, "ok", [new], [Effect.ASK_STOP]),
        *_stays(Event.CANCEL, ENDED, "conflict", new),
        *_stays(Event.RETRY, (*LIVE, State.COMPLETED, State.CANCELLED), "conflict", new),
        *_stays(Event.REQUEUE, LIVE, "conflict", new),
        *(_row(Event.DELETE, state, State.GONE, "ok") for state in (*WAITING, *ENDED)),
        *_stays(Event.DELETE, (State.RUNNING,), "conflict"),
        _row(Event.PURGE, State.READY, State.GONE, "1"),
        _row(Event.PURGE_DEAD, State.DEAD, State.GONE, "1"),
        _row(Event.PROMOTE_JOB, State.SCHEDULED, State.READY, "ok", [new], [Effect.LAST_PLACE]),
        _row(Event.PROMOTE_JOB, State.RETRYING, State.READY, "ok", [new], [Effect.LAST_PLACE]),
        *_stays(Event.PROMOTE_JOB, (State.READY, State.RUNNING, *ENDED), "conflict", new),
    ]
    replayed = [Effect.NEW_BUDGETS, Effect.LAST_PLACE]
    rows += [_row(Event.RETRY, State.DEAD, State.READY, "ok", [new], replayed)]
    rows += [_row(Event.REQUEUE, state, State.READY, "ok", [new], replayed) for state in ENDED]
    for event in (Event.PROMOTE_JOB, Event.CANCEL, Event.RETRY, Event.REQUEUE):
        rows += _stays(event, STORED, "already_done", again)
        rows += _stays(event, (State.GONE,), "not_found", new)
    return [*rows, *_stays(Event.DELETE, (State.GONE,), "not_found")]


TABLE: tuple[Row, ...] = (*_into_store(), *_under_token(), *_swept(), *_operated())
