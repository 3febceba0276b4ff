"""The limits of a queue in an operator's words: what each is called and means, and how its values are written."""

from collections.abc import Mapping
from dataclasses import dataclass

from leaseforge import limits
from leaseforge.queues import LIMIT_BOUNDS, QueueInfo
from leaseforge_console.filters import number, span

Value = float | None
UNITS = (("d", 86_400_000, "days"), ("h", 3_600_000, "hours"), ("m", 60_000, "minutes"), ("s", 1_000, "seconds"))


@dataclass(frozen=True, slots=True)
class Setting:
    """One limit of a queue. `empty` says what holds without it; `unit` is "ms" for a length of time."""

    name: str
    label: str
    meaning: str
    empty: str
    unit: str = ""


SETTINGS = (
    Setting(
        "max_running",
        "Cap",
        "At most so many jobs run at a time, over all workers. Jobs that run beyond a lowered cap end as usual.",
        "no cap",
        "jobs",
    ),
    Setting("rate", "Rate", "Workers take at most so many jobs a second, all together.", "no limit", "jobs/s"),
    Setting(
        "burst",
        "Burst",
        "So many claims may be saved up while the queue is quiet and taken at once. It counts only with a rate.",
        "1",
        "jobs",
    ),
    Setting(
        "keep_ms",
        "Keep ended jobs for",
        "Completed and cancelled jobs are deleted when they ended longer ago.",
        span(limits.KEEP_ENDED_MS / 1000),
        "ms",
    ),
    Setting(
        "keep",
        "Most ended jobs kept",
        "So many completed jobs are kept, and so many cancelled ones: beyond that the oldest are deleted.",
        f"{limits.KEEP_ENDED:,}",
        "jobs",
    ),
    Setting(
        "dead_keep_ms",
        "Keep dead jobs for",
        "Dead jobs are deleted when they died longer ago, whether anybody has looked at them or not.",
        span(limits.KEEP_DEAD_MS / 1000),
        "ms",
    ),
    Setting(
        "dead_keep",
        "Most dead jobs kept",
        "So many dead jobs are kept: beyond that the oldest are deleted.",
        f"{limits.KEEP_DEAD:,}",
        "jobs",
    ),
)
GROUPS = (("Pace", SETTINGS[:3]), ("Completed and cancelled jobs", SETTINGS[3:5]), ("Dead jobs", SETTINGS[5:]))
_DEFAULTS = {
    "keep_ms": limits.KEEP_ENDED_MS,
    "keep": limits.KEEP_ENDED,
    "dead_keep_ms": limits.KEEP_DEAD_MS,
    "dead_keep": limits.KEEP_DEAD,
}
"""What holds where a queue has no retention of its own."""


def told(changes: Mapping[str, Value]) -> str:
    """The new values in a sentence."""
    changed = [each for each in SETTINGS if each.name in changes]
    return ", ".join(f"{each.label.lower()} {words(each, changes[each.name])}" for each in changed)


def in_short(info: QueueInfo) -> tuple[tuple[str, str], ...]:
    """The limits the queue has of its own, as label and value."""
    own = [(each, getattr(info.limits, each.name)) for each in SETTINGS]
    return tuple((each.label, words(each, value)) for each, value in own if value is not None)


def bounds(setting: Setting) -> str:
    """From which value to which."""
    low, high = LIMIT_BOUNDS[setting.name]
    if setting.unit == "ms":
        return f"{span(low / 1000)} to {span(high / 1000)}"
    return f"{low:g} to {number(high)}"


def words(setting: Setting, value: Value) -> str:
    """A value as it is read; None is what holds without one."""
    if value is None:
        return setting.empty if setting.name in ("max_running", "rate") else f"{setting.empty} (default)"
    if setting.unit == "ms":
        return span(value / 1000)
    return f"{value:g} jobs/s" if setting.name == "rate" else number(value)


def effective(name: str, value: Value) -> float:
    """The retention that holds where a queue has this value for its own."""
    return _DEFAULTS[name] if value is None else value
