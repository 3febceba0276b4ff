"""One row of the transition table on a real server: a job brought into its state, and its event let loose on it."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from leaseforge import attempts, exchanges, operations
from leaseforge.claimed import Claimed
from leaseforge.errors import InvalidTransition, JobNotFound
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.requests import new_job
from tests.model.script_calls import script_call
from tests.model.transition_table import Effect, Event, Row, State, When
from tests.support.live_queue import LiveQueue

MAX_RECOVERIES = 2
LATER_MS = 60_000
STRANGER = "1.nobody"
"""A token no claim ever gave out: older than any."""

COUNTED = ("attempts", "failures", "recoveries", "releases", "replays")
_OUTCOMES: Mapping[Event, Outcome] = {
    Event.COMPLETE: Outcome.COMPLETE,
    Event.FAIL: Outcome.FAIL,
    Event.CRASH: Outcome.CRASH,
    Event.RELEASE: Outcome.RELEASE,
    Event.STOP: Outcome.CANCELLED,
}
_CHARGES: Mapping[Effect, str] = {
    Effect.NEW_TOKEN: "attempts",
    Effect.FAILURE: "failures",
    Effect.LOSS: "recoveries",
    Effect.RELEASED: "releases",
    Effect.NEW_BUDGETS: "replays",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a row may change of a job. `lease` is when its lease ends, 0.0 without one."""

    state: State
    counted: Mapping[str, int]
    token: str
    settled: str
    stop: bool
    lease: float

    def counted_after(self, row: Row) -> Mapping[str, int]:
        """The counters as the row's effects leave them."""
        after = dict(self.counted)
        for effect, name in _CHARGES.items():
            if effect in row.effects:
                after[name] += 1
        if Effect.NEW_BUDGETS in row.effects:
            after |= {"failures": 0, "recoveries": 0}
        return after


class RowCase:
    """A queue with one job that is as the row wants it; another ready job stands behind it."""

    def __init__(self, line: LiveQueue, row: Row) -> None:
        self._line = line
        self._row = row
        self._operation = "new"
        self._token = STRANGER
        self.job_id = str(uuid.uuid4())
        line.tick()
        _BRING[row.source](self)
        self._make_true()

    # how a job comes into a state

    def _gone(self) -> None:
        # The queue exists all the same, or operators would look nowhere.
        self._line.add(delay_ms=LATER_MS)

    def _scheduled(self) -> None:
        self._add(delay_ms=LATER_MS)

    def _ready(self) -> None:
        if When.SETTLED in self._row.when:
            self._settle(self._claimed(), Outcome.RELEASE)
        else:
            self._add()

    def _running(self) -> None:
        if When.SETTLED in self._row.when:
            self._settle(self._claimed(), Outcome.RELEASE)
            self._claim_mine()
            return
        claimed = self._claimed()
        for _ in range(self._lost_before()):
            self._line.expire(self.job_id)
            self._line.tick(max_recoveries=MAX_RECOVERIES)
            self._line.make_due(self.job_id)
            claimed = self._claim_mine()
        if When.CURRENT in self._row.when:
            self._token = claimed.token

    def _retrying(self) -> None:
        self._settle(self._claimed(), Outcome.FAIL, error_kind="Broken", delay_ms=LATER_MS)

    def _completed(self) -> None:
        self._settle(self._claimed(), Outcome.COMPLETE)

    def _dead(self) -> None:
        self._settle(self._claimed(), Outcome.FAIL, error_kind="Broken", permanent="told_so")

    def _cancelled(self) -> None:
        self._settle(self._claimed(), Outcome.CANCELLED)

    def _add(self, delay_ms: int = 0) -> None:
        self._line.add(id=self.job_id, delay_ms=delay_ms)
        self._line.add(delay_ms=delay_ms)

    def _claimed(self) -> Claimed:
        self._add()
        claimed = self._line.claim_one()
        assert claimed.id == self.job_id
        return claimed

    def _claim_mine(self) -> Claimed:
        [mine] = [claimed for claimed in self._line.claim(2) if claimed.id == self.job_id]
        return mine

    def _settle(self, claimed: Claimed, outcome: Outcome, **details: Any) -> None:
        self._line.settle(claimed, outcome, **details)
        if When.SETTLED in self._row.when:
            self._token = claimed.token

    def _lost_before(self) -> int:
        """Leases the job has lost before the loss or crash that the row may be about."""
        if When.LAST_LOSS in self._row.when:
            return MAX_RECOVERIES
        return 1 if When.LATER_LOSS in self._row.when else 0

    def _make_true(self) -> None:
        when, line = self._row.when, self._line
        if When.STOP_WANTED in when:
            line.run(operations.cancel(self.job_id, operation="stop"))
        if When.LEASE_OVER in when or When.CURRENT in when:
            # A token is good after its lease, too, as long as nobody has recovered the job.
            line.expire(self.job_id)
        if self._row.event is Event.RECOVER:
            # No gap in sweeping, however slow this machine is.
            line.raw.hdel(line.key("meta"), "swept_at", "recover_from")
        if When.PAUSED in when:
            line.run(operations.pause(line.name))
        if When.NOW in when and self._row.event is Event.PROMOTE:
            line.make_due(self.job_id)
        if When.SAME_OPERATION in when:
            line.raw.hset(line.record_key(self.job_id), "last_op", self._operation)

    # what the row is about

    def fire(self) -> str:
        """Lets the event happen, and answers in the table's words."""
        event, line = self._row.event, self._line
        if event in _OUTCOMES:
            return self._fire_settlement(_OUTCOMES[event])
        match event:
            case Event.ENQUEUE:
                delay_ms = LATER_MS if When.LATER in self._row.when else 0
                job = new_job("work", b"{}", id=self.job_id, queue=line.name, delay_ms=delay_ms)
                return str(line.run(operations.enqueue(job)).answer)
            case Event.PROMOTE:
                return str(line.run(script_call("promote", line.name, 200)))
            case Event.CLAIM:
                return str(line.exchange(1).status)
            case Event.ADOPT:
                again = line.exchange(1, number=line.last_number)
                assert [job.token for job in again.claimed] == [self._token]
                return str(again.status)
            case Event.RENEW:
                held = [(self.job_id, self._token)]
                return str(line.run(exchanges.renew(line.name, lease_ms=20_000, held=held))[0])
            case Event.PROGRESS:
                return str(line.run(attempts.progress(line.name, self.job_id, self._token, percent=50)))
            case Event.RECOVER:
                recovered, *_ = line.run(script_call("recover", line.name, 200, MAX_RECOVERIES, LATER_MS, LATER_MS, 0))
                return str(recovered)
            case Event.TRIM:
                line.age(self._row.source, [self.job_id], 120_000)
                removed, _ = line.run(script_call("trim", line.name, 200, 60_000, 100, 60_000, 100))
                return str(removed)
            case Event.PURGE:
                shown = line.run(script_call("purge", line.name, 1, line.now_ms(), "-inf", 0))
                return str(shown[0])
            case Event.PURGE_DEAD:
                return str(line.run(script_call("purge_dead", line.name, line.now_ms() + 1, 200))[0])
        return self._fire_operation(event)

    def _fire_settlement(self, outcome: Outcome) -> str:
        details: dict[str, Any] = {}
        if outcome is Outcome.FAIL:
            budget = 1 if When.SPENT in self._row.when else 5
            permanent = "told_so" if When.PERMANENT in self._row.when else ""
            details = {"error_kind": "Broken", "max_attempts": budget, "permanent": permanent, "delay_ms": LATER_MS}
        if outcome is Outcome.CRASH:
            details = {"error_kind": "SIGSEGV", "max_recoveries": MAX_RECOVERIES, "delay_ms": LATER_MS}
        settled = self._line.exchange(0, [Settlement(self.job_id, self._token, outcome, **details)])
        return str(settled.states[0] or settled.settled[0])

    def _fire_operation(self, event: Event) -> str:
        try:
            if event is Event.DELETE:
                return str(self._line.run(operations.delete(self.job_id)))
            return str(self._line.run(_OPERATIONS[event](self.job_id, operation=self._operation)))
        except JobNotFound:
            return "not_found"
        except InvalidTransition:
            return "conflict"

    # what became of the job

    def facts(self) -> Facts:
        """The job as it is now."""
        seen = self._line.snapshot()
        record = seen.records.get(self.job_id, {})
        return Facts(
            state=State(record.get("state", State.GONE)),
            counted={name: int(record.get(name, "0")) for name in COUNTED},
            token=record.get("token", ""),
            settled=record.get("settled", ""),
            stop="cancel_requested" in record,
            lease=seen.sets["running"].get(self.job_id, 0.0),
        )

    def check(self, before: Facts, after: Facts) -> None:
        """The row's effects, and no others, have happened."""
        effects = self._row.effects
        assert after.counted == before.counted_after(self._row)
        assert after.settled == (before.token if Effect.SETTLE in effects else before.settled)
        if Effect.NEW_TOKEN in effects:
            assert after.token not in ("", before.token)
        else:
            assert after.token == ("" if Effect.NO_TOKEN in effects else before.token)
        assert after.stop == (Effect.ASK_STOP in effects or (before.stop and Effect.FORGET_STOP not in effects))
        if after.state is State.RUNNING:
            assert (after.lease > before.lease) == (Effect.NEW_LEASE in effects)
        if Effect.OLD_PLACE in effects:
            assert self._line.ready()[0] == self.job_id
        if Effect.LAST_PLACE in effects:
            assert self._line.ready()[-1] == self.job_id


_OPERATIONS: Mapping[Event, Callable[..., Any]] = {
    Event.CANCEL: operations.cancel,
    Event.PROMOTE_JOB: operations.promote,
    Event.RETRY: operations.retry,
    Event.REQUEUE: operations.requeue,
}
_BRING: Mapping[State, Callable[[RowCase], None]] = {
    State.GONE: RowCase._gone,
    State.SCHEDULED: RowCase._scheduled,
    State.READY: RowCase._ready,
    State.RUNNING: RowCase._running,
    State.RETRYING: RowCase._retrying,
    State.COMPLETED: RowCase._completed,
    State.DEAD: RowCase._dead,
    State.CANCELLED: RowCase._cancelled,
}
