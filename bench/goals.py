"""The goals, and whether the medians of a run meet them. They are printed; nothing fails by missing one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.measuring import Figures


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on one figure of one workload, with what is aimed at beyond it."""

    what: str
    workload: str
    figure: str
    bound: float
    aim: float | None = None
    unit: str = ""
    at_least: bool = False
    scale: float = 1.0

    def judge(self, medians: Mapping[str, Figures]) -> str:
        """One line: what was measured, and whether it holds."""
        sign = ">=" if self.at_least else "<="
        goal = f"{self.what} {sign} {self.bound:g}{self.unit}"
        if self.aim is not None:
            goal += f" (aim {self.aim:g})"
        if self.figure not in medians.get(self.workload, {}):
            return f"  not measured  {goal}"
        value = medians[self.workload][self.figure] * self.scale
        holds = value >= self.bound if self.at_least else value <= self.bound
        return f"  {'holds ' if holds else 'MISSED'} {value:6.2f}  {goal}"


GOALS = (
    Goal("one process, c=16 batch=16: ours / floor", "drain c=16 batch=16", "ratio", 0.6, at_least=True),
    Goal("Redis CPU a drained job, default settings", "drain", "redis_us", 40, 20, " us"),
    Goal("wake-up p50", "wake-up at 50 jobs/s", "p50_ms", 2, 1, " ms"),
    Goal("wake-up p99", "wake-up at 50 jobs/s", "p99_ms", 6, 3, " ms"),
    Goal("worker CPU a job at 50 jobs/s", "wake-up at 50 jobs/s", "python_us", 1, unit=" ms", scale=1e-3),
    Goal("requests of an idle worker", "idle", "requests_per_second", 2, unit=" /s"),
)


def judged(medians: Mapping[str, Figures]) -> Iterator[str]:
    """A line for each goal; `medians` are our figures by workload, with the `ratio` to the floor."""
    return (goal.judge(medians) for goal in GOALS)
