"""The transition table against what is written in docs/state-machine.md, and against what the real scripts do."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from tests.model.row_cases import RowCase
from tests.model.transition_table import TABLE, Effect, Event, Row, State
from tests.support.live_queue import LiveQueue

PAGE = Path("docs/state-machine.md").read_text("utf-8")
SIDEWAYS = frozenset({Effect.NEW_LEASE, Effect.ASK_STOP})
"""Effects that are an arrow of their own, from a state to itself."""


@pytest.fixture
def line(redis_url: str) -> Iterator[LiveQueue]:
    """A queue in an empty database, whole when the test is over."""
    with LiveQueue(redis_url) as queue:
        yield queue
        queue.audit()


def arrows() -> set[tuple[str, str, str]]:
    """The table's arrows: event, from, to."""
    return {
        (str(row.event), str(row.source), str(row.target))
        for row in TABLE
        if row.source is not row.target or row.effects & SIDEWAYS
    }


def test_no_two_rows_hold_of_one_event_in_one_state() -> None:
    seen = {(row.event, row.source, row.when) for row in TABLE}

    assert len(seen) == len(TABLE)
    for one in TABLE:
        for other in TABLE:
            if one is not other and (one.event, one.source) == (other.event, other.source):
                assert not one.when <= other.when, f"{one} and {other}"


def test_the_page_lists_the_arrows_of_the_table() -> None:
    lines = re.findall(r"^\| (\w+) \| ([\w, ]*)→ ([\w, ]+) \|", PAGE, re.MULTILINE)
    listed = {
        (arrow, source, target)
        for arrow, sources, targets in lines
        if arrow != "arrow"
        for source in (sources.strip() or "gone").split(", ")
        for target in targets.strip().split(", ")
    }

    assert listed == arrows()


def test_the_page_draws_the_arrows_of_the_table() -> None:
    drawn = set()
    for source, target, label in re.findall(r"^ +(\S+) --> (\S+): (.+)$", PAGE, re.MULTILINE):
        words = {word for word in re.findall(r"\w+", re.sub(r"\([^)]*\)", "", label)) if word in {*Event}}
        ends = tuple("gone" if end == "[*]" else end for end in (source, target))
        drawn |= {(word, *ends) for word in words}

    assert drawn == {arrow for arrow in arrows() if arrow[1] != arrow[2]}


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_the_scripts_do_what_the_row_says(row: Row, line: LiveQueue) -> None:
    case = RowCase(line, row)
    before = case.facts()
    assert before.state is row.source

    with untouched(line, row):
        answer = case.fire()

    assert answer == row.answer
    after = case.facts()
    assert after.state is row.target
    if State.GONE not in (row.source, row.target):
        case.check(before, after)


def untouched(line: LiveQueue, row: Row) -> AbstractContextManager[None]:
    """Fails if anything at all changes, for a row that is to do nothing; a refused token alone is counted."""
    if row.changes or row.event is Event.RECOVER or (row.event is Event.PROGRESS and row.answer != "fenced"):
        return nullcontext()
    return line.unchanged(fenced=1) if row.answer == "fenced" else line.unchanged()
