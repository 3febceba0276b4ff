"""Flows that race for the same jobs: every order is tried, audited, and held against the serial orders."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from leaseforge.exchanges import Outcome
from tests.support.interleaving import Flow, Run, explore
from tests.support.live_queue import LiveQueue
from tests.support.references import audit_all

LIVE = ("ready", "running", "scheduled", "retrying")
_SHOWN = ("state", "attempts", "failures", "recoveries", "replays", "releases", "rev", "reason", "cancel_requested")
_LIMITS = ("paused", "max_running")


def job_number(number: int) -> str:
    """The id of a test's nth job: the same in every schedule, so that outcomes can be compared."""
    return f"00000000-0000-4000-8000-{number:012d}"


def picture(line: LiveQueue) -> tuple[Any, ...]:
    """A queue without what the clock decides: jobs' fields, the order of ready ones, totals, limits, other keys."""
    seen = line.snapshot()
    jobs = tuple(
        (job_id, *(record.get(name) for name in _SHOWN), f"{job_id}:in" in seen.parts, f"{job_id}:out" in seen.parts)
        for job_id, record in sorted(seen.records.items())
    )
    limits = tuple((name, seen.meta.get(name)) for name in _LIMITS)
    others = tuple(sorted(name for name in seen.others if not name.startswith("claim:")))
    return jobs, tuple(seen.job_ids("ready")), tuple(sorted(seen.counts.items())), limits, others


@dataclass(slots=True)
class Race:
    """Flows against one queue, filled anew by `arrange` before each schedule; `others` are further queues of theirs.

    `compare` says what a schedule must share with some serial order: answers and queues ("all"), the
    queues alone ("state"), or nothing, where an operation is by design a walk in chunks ("none").
    """

    line: LiveQueue
    arrange: Callable[[], Any]
    flows: Mapping[str, Flow]
    compare: str = "all"
    others: tuple[LiveQueue, ...] = ()
    schedules: int = 0
    outcomes: set[Any] = field(default_factory=set)

    def check(self, judge: Callable[[Run], None] = lambda run: None, *, outcomes: int = 2) -> None:
        """Tries every schedule. Each state met is audited; each end is judged, and must let itself be worked off.

        Fewer different `outcomes` than expected mean that the flows did not race at all.
        """
        serial = {self._outcome(run) for run in self._explore(whole_operations=True)}
        for run in self._explore(whole_operations=False, after_turn=self._audit):
            self.schedules += 1
            outcome = self._outcome(run)
            try:
                assert self.compare == "none" or outcome in serial, f"no serial order ends so: {outcome}\n{serial}"
                judge(run)
                if outcome not in self.outcomes:
                    for queue in self._queues():
                        work_off(queue)
            except BaseException as error:
                error.add_note(f"after this schedule:\n{run}")
                raise
            self.outcomes.add(outcome)
        assert len(self.outcomes) >= outcomes, f"{len(self.outcomes)} outcomes of {self.schedules} schedules"

    def _queues(self) -> tuple[LiveQueue, ...]:
        return (self.line, *self.others)

    def _explore(self, *, whole_operations: bool, after_turn: Callable[[], None] = lambda: None) -> Iterator[Run]:
        return explore(
            self.flows,
            self.line.store,
            reset=self._reset,
            after_turn=after_turn,
            whole_operations=whole_operations,
        )

    def _reset(self) -> None:
        self.line.raw.flushdb()
        self.arrange()

    def _audit(self) -> None:
        for queue in self._queues():
            audit_all(queue.raw, queue.name)

    def _outcome(self, run: Run) -> Any:
        answers = repr(sorted(run.answers.items())) if self.compare == "all" else ""
        return answers, tuple(picture(queue) for queue in self._queues())


def work_off(line: LiveQueue, *, rounds: int = 12) -> None:
    """Lets a healthy worker finish all there is: nothing may be stuck, whatever happened before."""
    raw = line.raw
    raw.hdel(line.key("meta"), "paused", "max_running", "rate", "recover_from", "swept_at")
    for _ in range(rounds):
        for state in ("scheduled", "retrying", "running"):
            for member in raw.zrange(line.key(state), 0, -1):
                raw.zadd(line.key(state), {member: line.now_ms() - 1}, xx=True)
        line.tick()
        for claimed in line.claim(200):
            line.settle(claimed, Outcome.COMPLETE)
        if not any(raw.zcard(line.key(state)) for state in LIVE):
            break
    audit_all(raw, line.name)
    stuck = {state: raw.zcard(line.key(state)) for state in LIVE}
    assert not any(stuck.values()), f"after {rounds} rounds of work queue {line.name} still holds {stuck}"
