"""One queue's exchange with Redis: settles what ended and claims the next jobs, in one trip."""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import structlog

from leaseforge import events, exchanges
from leaseforge.answers import Answer
from leaseforge.calls import Call
from leaseforge.errors import ScriptFault, StoreError
from leaseforge.exchanges import Exchanged, Settlement
from leaseforge.jobs import JobState
from leaseforge.limits import CHUNK
from leaseforge_worker.held import Clock, Held, HeldJobs
from leaseforge_worker.intake import Intake
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.pauses import Pauses
from leaseforge_worker.pool import Pool

log = structlog.get_logger()

T = TypeVar("T")

LONGEST_PAUSE_S = 2.0
_FAULTS_BEFORE_ISOLATION = 3
_QUIET_TURNS = 2
_MAX_BYTES = 4 * 1024 * 1024
"""Results one exchange carries: a longer script call would hold up everybody else's."""

_EVENTS = {
    JobState.COMPLETED: events.JOB_COMPLETED,
    JobState.RETRYING: events.JOB_RETRY_SCHEDULED,
    JobState.DEAD: events.JOB_DEAD,
    JobState.READY: events.JOB_RELEASED,
    JobState.CANCELLED: events.JOB_CANCELLED,
}


class Runs(Protocol):
    """The one thing the loops need of a store."""

    async def run(self, call: Call[T], /) -> T:
        """Carries out a call. Raises StoreError."""
        ...


@dataclass(slots=True)
class Pending:
    """An exchange that was sent and not answered yet: sent again as it is until an answer comes."""

    call: Call[Exchanged]
    ended: Sequence[Held]
    want: int


class QueueExchange:
    """The exchange of one queue. Never more than one is under way, numbered within this run.

    An exchange leaves when there is a reason, and takes along all that ended since the last one:
    under load batches grow by themselves, a lone job is settled at once. After a lost reply the
    same one is sent again, and what it had claimed is adopted. All state outlives a crash of `run`.
    """

    def __init__(
        self,
        queue: str,
        *,
        run_id: str,
        lease_ms: int,
        store: Runs,
        pool: Pool,
        intake: Intake,
        held: HeldJobs,
        link: Link,
        meters: Meters,
        clock: Clock = time.monotonic,
        verbose: bool = False,
    ) -> None:
        self.queue = queue
        self._run_id = run_id
        self._lease_ms = lease_ms
        self._store = store
        self._pool = pool
        self._intake = intake
        self._held = held
        self._link = link
        self._meters = meters
        self._clock = clock
        self._verbose = verbose
        self._number = 0
        self._ended: deque[Held] = deque()
        self._pending: Pending | None = None
        self._in_flight = False
        self._baton = False
        self._watching = False
        self._faults = 0
        self._alone = 0
        self._leave = asyncio.Event()
        self._wait: asyncio.TimerHandle | None = None
        # After an outage nothing is recovered for a third of a lease: an unanswered claim is adopted within that.
        self._pauses = Pauses(first_s=0.05, longest_s=min(LONGEST_PAUSE_S, lease_ms / 4000))

    @property
    def unsettled(self) -> int:
        """Attempts that ended and whose settlement is not committed yet."""
        return len(self._ended) + (len(self._pending.ended) if self._pending else 0)

    @property
    def has_token(self) -> bool:
        """Whether a wake token was taken that no exchange has answered yet."""
        return self._baton or self._in_flight

    def settle(self, held: Held) -> None:
        """An attempt ended: its settlement goes with the next exchange."""
        self._ended.append(held)
        if not self._watching:
            self.consider()

    def woken(self) -> None:
        """This queue's wake token was taken: claim, or pass the token on if there is no room."""
        self._baton = True
        self._intake.set_hungry(self.queue)
        self.consider()

    def consider(self) -> None:
        """Sends the next exchange if there is a reason to. While one is under way its end asks again."""
        if self._in_flight or self._leave.is_set():
            return
        if self._has_reason():
            self._leave.set()
        elif self._ended and not self._watching:
            self._watching = True
            asyncio.get_running_loop().call_soon(self._watch, len(self._ended), 0)

    def close(self) -> None:
        """Stops the timer of a rate limit."""
        if self._wait is not None:
            self._wait.cancel()

    async def run(self) -> None:
        """Sends exchanges for ever, each when it has a reason to leave; Redis being away only pauses it."""
        while True:
            if self._pending is None:
                await self._leave.wait()
            try:
                await self.run_once()
            except StoreError as error:
                self._link.failed(f"exchange:{self.queue}", error)
                await asyncio.sleep(self._pauses.next_s())
                if self._pending is None:
                    self._leave.set()

    async def run_once(self) -> None:
        """One exchange, or the unanswered one again. Raises StoreError; everything is kept for the next try."""
        self._leave.clear()
        pending = self._pending or self._compose()
        if pending is None:
            return
        self._pending = pending
        self._in_flight = True
        sent_at = self._clock()
        try:
            answer = await self._store.run(pending.call)
        except ScriptFault:
            self._faulted(pending)
            raise
        finally:
            self._in_flight = False
        self._meters.called("exchange", self._clock() - sent_at)
        self._link.worked(f"exchange:{self.queue}")
        self._pauses.reset()
        self._faults = 0
        self._take(pending, answer, sent_at)
        self._pending = None
        self.consider()
        self._intake.feed()

    def _has_reason(self) -> bool:
        """A token to pass on, settlements that nothing will join soon, or room for work that may be there."""
        if self._baton or len(self._ended) >= CHUNK:
            return True
        if self._ended and not self._pool.buffered:
            return True
        return self._intake.is_hungry(self.queue) and self._pool.is_eager() and self._intake.is_turn_of(self.queue)

    def _watch(self, seen: int, quiet: int) -> None:
        """While each turn of the event loop ends more attempts, settlements gather; a quiet one sends them off."""
        if self._in_flight or not self._ended:
            self._watching = False
            return
        quiet = quiet + 1 if len(self._ended) == seen else 0
        if quiet >= _QUIET_TURNS or self._has_reason():
            self._watching = False
            self._leave.set()
        else:
            asyncio.get_running_loop().call_soon(self._watch, len(self._ended), quiet)

    def _compose(self) -> Pending | None:
        """The next exchange: what ended, at most 200, and as many claims as the intake grants."""
        settling = self._take_ended(1 if self._alone else CHUNK)
        want = 0 if self._alone else self._intake.grant(self.queue)
        if not settling and not want and not self._baton:
            return None
        self._baton = False
        self._number += 1
        settlements = [held.settlement for held in settling if held.settlement is not None]
        call = exchanges.exchange(
            self.queue,
            run_id=self._run_id,
            number=self._number,
            lease_ms=self._lease_ms,
            want=want,
            settlements=settlements,
        )
        return Pending(call, settling, want)

    def _take_ended(self, most: int) -> list[Held]:
        """The attempts that ended first: no more than a call may carry, in number and in bytes of results."""
        taken: list[Held] = []
        size = 0
        while self._ended and len(taken) < most:
            settlement = self._ended[0].settlement
            size += len(settlement.result) if settlement is not None else 0
            if taken and size > _MAX_BYTES:
                break
            taken.append(self._ended.popleft())
        return taken

    def _take(self, pending: Pending, answer: Exchanged, sent_at: float) -> None:
        """Applies an answer. Doing it twice does no harm: held jobs are known by id and token."""
        for held, settled, state in zip(pending.ended, answer.settled, answer.states, strict=True):
            self._held.discard(held)
            self._settled(held, settled, state)
        if self._alone:
            self._alone -= 1
        fresh = []
        for claimed in answer.claimed:
            held = Held(claimed, confirmed_at=sent_at, lease_s=self._lease_ms / 1000, clock=self._clock)
            if self._held.add(held):
                fresh.append(held)
                if self._verbose:
                    log.debug(events.JOB_CLAIMED, job_id=claimed.id, queue=self.queue, attempt=claimed.attempt)
        self._meters.claimed += len(fresh)
        want, pending.want = pending.want, 0
        self._intake.used(self.queue, want, hungry=self._may_have_more(answer, want))
        self._pool.admit(fresh)

    def _may_have_more(self, answer: Exchanged, want: int) -> bool:
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None
        if answer.wait_ms is not None:
            loop = asyncio.get_running_loop()
            self._wait = loop.call_later(answer.wait_ms / 1000, self._intake.set_hungry, self.queue)
            return False
        return answer.more and answer.status is not Answer.PAUSED and (want > 0 or self._intake.is_hungry(self.queue))

    def _settled(self, held: Held, answer: Answer, state: JobState | None) -> None:
        claimed = held.claimed
        if answer is Answer.FENCED:
            self._meters.fenced += 1
            log.warning(events.JOB_FENCED, job_id=claimed.id, type=claimed.type, queue=self.queue, at="settle")
        elif state is not None:
            self._meters.ended(state)
            if self._verbose or state is JobState.DEAD:
                self._tell(held, held.settlement, state)

    def _tell(self, held: Held, settlement: Settlement | None, state: JobState) -> None:
        facts: dict[str, Any] = {"job_id": held.claimed.id, "type": held.claimed.type, "queue": self.queue}
        if settlement is not None and settlement.error_kind:
            facts["error_kind"] = settlement.error_kind
        if state is JobState.RETRYING and settlement is not None:
            facts["delay_ms"] = settlement.delay_ms
        level = log.info if state is JobState.DEAD else log.debug
        level(_EVENTS[state], attempt=held.claimed.attempt, **facts)

    def _faulted(self, pending: Pending) -> None:
        """A script fault that stays may come from one settlement: they go one by one, and the culprit alone is dropped.

        The dropped one's lease runs out and the job is recovered, so that it is never lost.
        """
        self._faults += 1
        if self._faults < _FAULTS_BEFORE_ISOLATION:
            return
        self._faults = 0
        self._pending = None
        self._intake.used(self.queue, pending.want, hungry=True)
        if len(pending.ended) == 1 and not pending.want:
            [culprit] = pending.ended
            log.error(events.SETTLEMENT_REFUSED, job_id=culprit.claimed.id, queue=self.queue)
            self._held.discard(culprit)
            self._alone = max(0, self._alone - 1)
        else:
            self._ended.extendleft(reversed(pending.ended))
            self._alone = len(pending.ended)
