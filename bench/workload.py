"""What a workload is: one thing to measure, beside the least that could do the same."""

from dataclasses import dataclass
from typing import Protocol

from bench.measuring import Figures
from bench.server import Bench


class Side(Protocol):
    """One way to do a workload, on an empty server. Equal ones are run once a round."""

    def __call__(self, bench: Bench, jobs: int, /) -> Figures:
        """Does it with so many jobs. Raises WorkloadFailed if any is lost or not done."""
        ...

    def __hash__(self) -> int:
        """Equal sides are equal measurements."""
        ...


@dataclass(frozen=True, slots=True)
class Workload:
    """One thing to measure. It gets `share` of the jobs asked for, but no fewer than `least`."""

    name: str
    ours: Side
    floor: Side | None
    share: float = 1.0
    least: int = 1

    def jobs(self, asked: int) -> int:
        """How many jobs it runs."""
        return max(self.least, round(asked * self.share))
