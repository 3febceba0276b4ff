"""What a queue keeps to: the form that shows and changes it, and the confirmation that shows old and new."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from leaseforge.errors import BadInput, FieldProblem
from leaseforge.jobs import JobState
from leaseforge.queues import QueueInfo, check_limits
from leaseforge_console.filters import number, plural
from leaseforge_console.views.queue_limits import GROUPS, SETTINGS, UNITS, Setting, Value, bounds, effective, words
from leaseforge_console.views.queues import TYPED_ABOVE
from leaseforge_console.views.tables import Choice

TYPED_WORD = "change"


@dataclass(frozen=True, slots=True)
class Field:
    """A setting in the form: its text as typed, the units to choose from if it is a time, and what is wrong with it."""

    setting: Setting
    text: str
    units: tuple[Choice, ...]
    bounds: str
    problem: str


@dataclass(frozen=True, slots=True)
class Form:
    """The page. `note` is told above the form."""

    queue: str
    groups: tuple[tuple[str, tuple[Field, ...]], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One setting before and after, in words and as the confirmation sends them."""

    setting: Setting
    before: str
    after: str
    sent_before: str
    sent_after: str


@dataclass(frozen=True, slots=True)
class Review:
    """The confirmation. `effects` are sentences; at most `deletes` jobs would be deleted; `back` leads to the form."""

    queue: str
    changes: tuple[Change, ...]
    effects: tuple[str, ...]
    deletes: int
    back: str
    word: str | None
    word_problem: str | None
    problem: str | None

    @property
    def is_refused(self) -> bool:
        """Whether it is shown again, because of what was sent."""
        return bool(self.word_problem or self.problem)


class Texts(Protocol):
    """The fields of a form."""

    def text(self, name: str) -> str:
        """A field as it was typed, '' if it is missing."""
        ...


def form(
    info: QueueInfo, typed: Texts | None = None, problems: Mapping[str, str] | None = None, note: str = ""
) -> Form:
    """The form with the queue's own values, or with what was typed."""
    problems = problems or {}

    def field(setting: Setting) -> Field:
        if typed is None:
            text, unit = _parts(setting, getattr(info.limits, setting.name))
        else:
            text, unit = typed.text(setting.name), typed.text(f"{setting.name}_unit")
        units = tuple(Choice(short, word, short == unit) for short, _, word in UNITS) if setting.unit == "ms" else ()
        return Field(setting, text, units, bounds(setting), problems.get(setting.name, ""))

    return Form(info.name, tuple((title, tuple(field(each) for each in group)) for title, group in GROUPS), note)


def read_form(typed: Texts) -> dict[str, Value]:
    """The values typed, None for an empty field. Raises BadInput naming every wrong one, in the words of the form."""
    values: dict[str, Value] = {}
    problems: list[FieldProblem] = []
    for setting in SETTINGS:
        try:
            values[setting.name] = _typed(setting, typed)
            check_limits({setting.name: values[setting.name]})
        except (BadInput, ValueError):
            problems.append(FieldProblem(setting.name, f"must be {bounds(setting)}"))
    if problems:
        raise BadInput(problems)
    return values


def changed(info: QueueInfo, values: Mapping[str, Value]) -> dict[str, Value]:
    """What of the values the queue does not have already."""
    return {name: value for name, value in values.items() if value != getattr(info.limits, name)}


def review(
    info: QueueInfo, changes: Mapping[str, Value], *, back: str, word: str | None = None, problem: str | None = None
) -> Review:
    """What would change, and what that does; more than a thousand jobs are deleted only with a typed word.

    `word` is what was typed, None before anything was.
    """
    told = tuple(
        Change(
            setting,
            words(setting, before := getattr(info.limits, setting.name)),
            words(setting, changes[setting.name]),
            _sent(before),
            _sent(changes[setting.name]),
        )
        for setting in SETTINGS
        if setting.name in changes
    )
    effects, deletes = _effects(info, changes)
    needed = TYPED_WORD if deletes > TYPED_ABOVE else None
    is_missing = needed is not None and word is not None and word.strip().lower() != needed
    word_problem = f"Type the word {needed} to confirm." if is_missing else None
    return Review(info.name, told, effects, deletes, back, needed, word_problem, problem)


def read_review(sent: Texts) -> tuple[dict[str, Value], dict[str, Value]]:
    """What the confirmation sends back: the values before and after, by name. Raises BadInput."""
    named = [setting.name for setting in SETTINGS if sent.text(f"name_{setting.name}")]
    if not named:
        raise BadInput([FieldProblem("name", "names no setting")])
    before = {name: _received(name, sent.text(f"before_{name}")) for name in named}
    after = {name: _received(name, sent.text(f"after_{name}")) for name in named}
    check_limits(after)
    return before, after


def _effects(info: QueueInfo, changes: Mapping[str, Value]) -> tuple[tuple[str, ...], int]:
    said: list[str] = []
    running = info.counts.get(JobState.RUNNING, 0)
    cap = changes.get("max_running")
    if cap is not None and running > cap:
        said.append(f"{plural(running, 'job')} run now: nothing is taken until fewer than {number(cap)} do.")
    if "burst" in changes and changes.get("rate", info.limits.rate) is None:
        said.append("Without a rate the burst has no effect.")
    deletes = 0
    for prefix, states in (("", (JobState.COMPLETED, JobState.CANCELLED)), ("dead_", (JobState.DEAD,))):
        age, most = f"{prefix}keep_ms", f"{prefix}keep"
        for state in states:
            held, gone = info.counts.get(state, 0), 0
            if most in changes:
                gone = max(held - int(effective(most, changes[most])), 0)
            if age in changes and effective(age, changes[age]) < effective(age, getattr(info.limits, age)):
                gone = held
            if gone:
                deletes += gone
                said.append(f"Up to {plural(gone, f'{state.value} job')} will be deleted. They cannot be brought back.")
    return tuple(said), deletes


def _typed(setting: Setting, typed: Texts) -> Value:
    text = typed.text(setting.name).strip().replace(",", "").replace("_", "")
    if not text:
        return None
    if setting.unit == "ms":
        sizes = {short: size for short, size, _ in UNITS}
        # A unit nobody offers is as wrong as a number nobody can read.
        return round(_decimal(text) * sizes.get(typed.text(f"{setting.name}_unit"), -1))
    return _decimal(text) if setting.name == "rate" else _whole(text)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text[:12])


def _decimal(text: str) -> float:
    if not (text.isascii() and text.replace(".", "", 1).isdigit()) or len(text) > 20:
        raise ValueError(text)
    return float(text)


def _parts(setting: Setting, value: Value) -> tuple[str, str]:
    """The text of a value, and the largest unit in which it is whole."""
    if setting.unit != "ms":
        return _sent(value), ""
    if value is None:
        return "", "d" if setting.name.startswith("dead") else "h"
    unit, size = next((short, size) for short, size, _ in UNITS if value % size == 0 or size == 1_000)
    return _sent(value / size), unit


def _sent(value: Value) -> str:
    if value is None:
        return ""
    return str(int(value)) if value == int(value) else repr(value)


def _received(name: str, text: str) -> Value:
    try:
        if not text:
            return None
        return _decimal(text) if name == "rate" else _whole(text)
    except ValueError as error:
        raise BadInput([FieldProblem(name, "is not a number")]) from error
