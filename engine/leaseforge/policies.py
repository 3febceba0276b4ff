"""How jobs are run: what their tasks ask for, what they ask for themselves, and what holds for one in the end."""

from dataclasses import dataclass
from typing import TypeVar

from leaseforge.jobs import Backoff, Options
from leaseforge.limits import MAX_ATTEMPTS, MAX_BACKOFF_MS, MAX_TIMEOUT_MS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """How a task's jobs are run unless the job says otherwise. None leaves it to the product's defaults.

    `max_attempts` counts failures until the job is dead; 0 means without limit. Times are in ms.
    """

    max_attempts: int | None = None
    timeout_ms: int | None = None
    backoff: Backoff | None = None
    backoff_base_ms: int | None = None
    backoff_cap_ms: int | None = None

    def problems(self) -> list[str]:
        """Every rule these options break, in words that name the argument of `@task`."""
        ranges = (
            ("max_attempts", self.max_attempts, 0, MAX_ATTEMPTS, ""),
            ("timeout_s", self.timeout_ms, 1, MAX_TIMEOUT_MS, " ms"),
            ("backoff_base_s", self.backoff_base_ms, 1, MAX_BACKOFF_MS, " ms"),
            ("backoff_cap_s", self.backoff_cap_ms, 1, MAX_BACKOFF_MS, " ms"),
        )
        return [
            f"{name} must be from {low} to {high}{unit}"
            for name, value, low, high, unit in ranges
            if value is not None and not low <= value <= high
        ]


@dataclass(frozen=True, slots=True)
class Policy:
    """How one job is run, all questions answered: its own options, else its task's, else the defaults."""

    max_attempts: int = 3
    timeout_ms: int | None = None
    backoff: Backoff = Backoff.EXPONENTIAL
    backoff_base_ms: int = 1_000
    backoff_cap_ms: int = 60_000

    def overlaid(self, options: TaskOptions | Options) -> "Policy":
        """This policy with whatever `options` sets instead."""
        return Policy(
            max_attempts=_first(options.max_attempts, self.max_attempts),
            timeout_ms=_first(options.timeout_ms, self.timeout_ms),
            backoff=_first(options.backoff, self.backoff),
            backoff_base_ms=_first(options.backoff_base_ms, self.backoff_base_ms),
            backoff_cap_ms=_first(options.backoff_cap_ms, self.backoff_cap_ms),
        )


def _first(chosen: T | None, default: T) -> T:
    return default if chosen is None else chosen
