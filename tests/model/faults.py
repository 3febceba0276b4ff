"""Faults to plant in the transition table, each with words of the rule whose breaking must be found."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tests.model.search import Change
from tests.model.transition_table import TABLE, Effect, Event, Row, State, When

Match = Callable[[Row], bool]


def _on(event: Event, source: State | None = None, *when: When) -> Match:
    return lambda row: row.event is event and source in (None, row.source) and row.when.issuperset(when)


def _edit(match: Match, edit: Change) -> Change:
    return lambda row: edit(row) if match(row) else row


def _without(effect: Effect) -> Change:
    return lambda row: replace(row, effects=row.effects - {effect})


def _to(target: State) -> Callable[[Row], Row]:
    return lambda row: replace(row, target=target, enters=None if target is State.GONE else target, leaves=row.source)


def _as_if_current(row: Row) -> Row:
    """The row its event has for the claim's own token, under the token of this row."""
    token = row.when & {When.STALE, When.SETTLED}
    for own in TABLE:
        if own.event is row.event and own.source is row.source and own.when == {When.CURRENT}:
            return replace(own, when=token)
    return row


def _dropped(row: Row) -> Row | None:
    return None


_COMPLETE_RUNNING = _on(Event.COMPLETE, State.RUNNING)

FAULTS: Mapping[str, tuple[Change, str]] = {
    "settle does not compare tokens": (
        _edit(lambda row: _COMPLETE_RUNNING(row) and When.STALE in row.when, _as_if_current),
        "under a token that is not the job's",
    ),
    "settle accepts a settled token again": (
        _edit(lambda row: _COMPLETE_RUNNING(row) and When.SETTLED in row.when, _as_if_current),
        "under a token that is not the job's",
    ),
    "a zombie's renewal counts": (
        _edit(
            _on(Event.RENEW, State.RUNNING, When.STALE),
            lambda row: replace(row, effects=frozenset({Effect.NEW_LEASE}), answer="ok"),
        ),
        "under a token that is not the job's",
    ),
    "a claim gives out the old token": (
        _edit(_on(Event.CLAIM, State.READY, When.OPEN), _without(Effect.NEW_TOKEN)),
        "second result",
    ),
    "a late result overwrites an ended job": (
        _edit(
            _on(Event.FAIL, State.COMPLETED, When.STALE),
            lambda row: _to(State.RETRYING)(replace(row, answer="retrying")),
        ),
        "under a token that is not the job's",
    ),
    "claim leaves the job in ready": (
        _edit(_on(Event.CLAIM, State.READY, When.OPEN), lambda row: replace(row, leaves=None)),
        "2 places",
    ),
    "promote puts the job nowhere": (
        _edit(_on(Event.PROMOTE, State.RETRYING, When.NOW), lambda row: replace(row, enters=None)),
        "0 places",
    ),
    "delete leaves the entry": (
        _edit(_on(Event.DELETE, State.READY), lambda row: replace(row, leaves=None)),
        "stands in 1 places",
    ),
    "claims of a paused queue succeed": (
        _edit(
            _on(Event.CLAIM, State.READY, When.PAUSED),
            lambda row: replace(_to(State.RUNNING)(row), answer="ok", effects=frozenset({Effect.NEW_TOKEN})),
        ),
        "paused",
    ),
    "recover does not look at the lease again": (
        lambda row: (
            _dropped(row)
            if _on(Event.RECOVER, None, When.LEASE_HELD)(row)
            else replace(row, when=row.when - {When.LEASE_OVER})
        ),
        "whose lease holds",
    ),
    "delete takes a running job": (_edit(_on(Event.DELETE, State.RUNNING), _to(State.GONE)), "changed the job"),
    "delete takes a running job and says so": (
        _edit(_on(Event.DELETE, State.RUNNING), lambda row: replace(_to(State.GONE)(row), answer="ok")),
        "whose lease holds",
    ),
    "cancel ends a running job at once": (
        _edit(_on(Event.CANCEL, State.RUNNING, When.NEW_OPERATION), _to(State.CANCELLED)),
        "whose lease holds",
    ),
    "retry takes a running job": (
        _edit(
            _on(Event.RETRY, State.RUNNING, When.NEW_OPERATION),
            lambda row: replace(_to(State.READY)(row), answer="ok"),
        ),
        "whose lease holds",
    ),
    "an operator's repeated request acts twice": (
        _edit(
            _on(Event.CANCEL, State.CANCELLED, When.SAME_OPERATION),
            lambda row: replace(_to(State.READY)(row), answer="ok"),
        ),
        "had ended",
    ),
    "the last failure is retried": (
        _edit(_on(Event.FAIL, State.RUNNING, When.SPENT), _to(State.RETRYING)),
        "failed 2 times of 2",
    ),
    "poison is given another try": (
        _edit(_on(Event.RECOVER, State.RUNNING, When.LAST_LOSS), _to(State.RETRYING)),
        "lost 3 leases",
    ),
    "a job that crashes does so for ever": (
        _edit(_on(Event.CRASH, State.RUNNING, When.LAST_LOSS), _to(State.RETRYING)),
        "lost 3 leases",
    ),
    "a last failure keeps the wish to stop": (
        _edit(_on(Event.FAIL, State.RUNNING, When.PERMANENT), _without(Effect.FORGET_STOP)),
        "still asked to stop",
    ),
    "trim takes what waits": (
        lambda row: replace(row, event=Event.TRIM, when=frozenset()) if _on(Event.PURGE, State.READY)(row) else row,
        "had not ended",
    ),
    "an exchange sent again brings a gone job back": (
        _edit(
            _on(Event.COMPLETE, State.GONE, When.STALE),
            lambda row: replace(row, target=State.COMPLETED, enters=State.COMPLETED, answer="completed"),
        ),
        "under a token that is not the job's",
    ),
    "nobody promotes retries": (
        lambda row: None if row.event is Event.PROMOTE and row.source is State.RETRYING else row,
        "never ends",
    ),
    "nobody recovers": (lambda row: None if row.event is Event.RECOVER else row, "never ends"),
    "a condition is forgotten": (
        _edit(_on(Event.RELEASE, State.RUNNING, When.STOP_WANTED), _dropped),
        "no row",
    ),
    "two rows hold at once": (
        _edit(
            _on(Event.RELEASE, State.RUNNING, When.NO_STOP),
            lambda row: replace(row, when=row.when - {When.NO_STOP}),
        ),
        "2 rows",
    ),
}
"""What each fault would be in the scripts: a dropped compare, a dropped ZREM or ZADD, a wrong target, a lost loop."""
