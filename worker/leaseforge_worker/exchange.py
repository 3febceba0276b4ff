"""One queue's exchange with Redis: settles what ended and claims the next jobs, in one trip."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import structlog

from leaseforge import events, exchanges
from leaseforge.answers import Answer
from leaseforge.calls import Call
from leaseforge.errors import ScriptFault, StoreError
from leaseforge.exchanges import Exchanged, Ticked
from leaseforge.limits import CHUNK
from leaseforge_worker.held import Clock, Held, HeldJobs
from leaseforge_worker.intake import Intake
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.outbox import Outbox, settlement_of
from leaseforge_worker.pauses import Pauses
from leaseforge_worker.pool import Pool

if TYPE_CHECKING:
    from leaseforge_worker.job_traces import JobTraces

log = structlog.get_logger()

T = TypeVar("T")

LONGEST_PAUSE_S = 2.0
_FAULTS_BEFORE_ISOLATION = 3
_QUIET_TURNS = 2


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
    reserved: int
    """Of the worker's room, what is kept free for the answer."""


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
        forward: Callable[[str], None],
        clock: Clock = time.monotonic,
        verbose: bool = False,
        first_sweep: Call[Ticked] | None = None,
        traces: "JobTraces | None" = None,
    ) -> None:
        self.queue = queue
        self._first_sweep = first_sweep
        self._traces = traces
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
        self._outbox = Outbox(queue, held=held, meters=meters, forward=forward, verbose=verbose, traces=traces)
        self._number = 0
        self._pending: Pending | None = None
        self._in_flight = False
        self._baton = False
        self._watching = False
        self._faults = 0
        self._leave = asyncio.Event()
        self._wait: asyncio.TimerHandle | None = None
        # After an outage nothing is recovered for a third of a lease: an unanswered claim is adopted within that.
        self._pauses = Pauses(first_s=0.05, longest_s=min(LONGEST_PAUSE_S, lease_ms / 4000))

    @property
    def unsettled(self) -> int:
        """Attempts that ended and whose settlement is not committed yet."""
        return len(self._outbox) + (len(self._pending.ended) if self._pending else 0)

    @property
    def has_token(self) -> bool:
        """Whether a wake token was taken that no exchange has answered yet."""
        return self._baton or self._in_flight

    def settle(self, held: Held) -> None:
        """An attempt ended: its settlement goes with the next exchange."""
        self._outbox.put(held)
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
        elif self._outbox and not self._watching:
            self._watching = True
            asyncio.get_running_loop().call_soon(self._watch, len(self._outbox), 0)

    def close(self) -> None:
        """Stops the timer of a rate limit."""
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None

    async def run(self) -> None:
        """Sends exchanges for ever, each when it has a reason to leave; Redis being away only pauses it."""
        while True:
            if self._pending is None:
                await self._leave.wait()
            try:
                await self._sweep_first()
                await self.run_once()
            except StoreError as error:
                self._link.failed(f"exchange:{self.queue}", error)
                await asyncio.sleep(self._pauses.next_s())
                if self._pending is None:
                    self._leave.set()

    async def _sweep_first(self) -> None:
        """One sweep before the first claim.

        The sweep after an outage spares live workers' jobs only if it can tell that one was missed,
        that is, if there was one before. A queue that cannot be swept is claimed from all the same.
        """
        if self._first_sweep is None:
            return
        asked_ns = time.time_ns()
        try:
            swept = await self._store.run(self._first_sweep)
            if self._traces is not None:
                self._traces.moved(swept.moves, since_ns=asked_ns)
        except ScriptFault:
            pass  # the ticker, which sweeps from now on, says so
        except StoreError:
            self._intake.give_up(self.queue, 0)
            raise
        self._first_sweep = None

    async def run_once(self) -> None:
        """One exchange, or the unanswered one again. Raises StoreError; everything is kept for the next try."""
        self._leave.clear()
        pending = self._pending or self._compose()
        if pending is None:
            return
        self._pending = pending
        self._in_flight = True
        sent_at = self._clock()
        asked_ns = time.time_ns() if self._traces is not None else 0
        try:
            answer = await self._store.run(pending.call)
        except StoreError as error:
            self._let_others_claim(pending)
            if isinstance(error, ScriptFault):
                self._faulted(pending)
            raise
        finally:
            self._in_flight = False
        took_s = self._clock() - sent_at
        if pending.ended:
            self._meters.called("ack", took_s)
        if pending.want or not pending.ended:
            self._meters.called("claim", took_s)
        self._link.worked(f"exchange:{self.queue}")
        if pending.want:
            self._link.asked()
        self._pauses.reset()
        self._faults = 0
        self._take(pending, answer, sent_at, asked_ns)
        self._pending = None
        self.consider()
        self._intake.feed()

    def _has_reason(self) -> bool:
        """A token to pass on, settlements that nothing will join soon, or room for work that may be there."""
        if self._baton or len(self._outbox) >= CHUNK:
            return True
        if self._outbox and not self._pool.buffered:
            return True
        return self._intake.is_hungry(self.queue) and self._pool.is_eager() and self._intake.is_turn_of(self.queue)

    def _watch(self, seen: int, quiet: int) -> None:
        """While each turn of the event loop ends more attempts, settlements gather; a quiet one sends them off."""
        if self._in_flight or not self._outbox:
            self._watching = False
            return
        quiet = quiet + 1 if len(self._outbox) == seen else 0
        if quiet >= _QUIET_TURNS or self._has_reason():
            self._watching = False
            self._leave.set()
        else:
            asyncio.get_running_loop().call_soon(self._watch, len(self._outbox), quiet)

    def _compose(self) -> Pending | None:
        """The next exchange: what ended, at most 200, and as many claims as the intake grants."""
        want = 0 if self._outbox.is_isolating else self._intake.grant(self.queue)
        settling = self._outbox.take()
        if not settling and not want and not self._baton:
            return None
        self._baton = False
        self._number += 1
        call = exchanges.exchange(
            self.queue,
            run_id=self._run_id,
            number=self._number,
            lease_ms=self._lease_ms,
            want=want,
            settlements=[settlement_of(held) for held in settling],
        )
        return Pending(call, settling, want, reserved=want)

    def _take(self, pending: Pending, answer: Exchanged, sent_at: float, asked_ns: int = 0) -> None:
        """Applies an answer. Doing it twice does no harm: held jobs are known by id and token."""
        self._outbox.settled(pending.ended, answer)
        fresh = []
        for claimed in answer.claimed:
            held = Held(claimed, confirmed_at=sent_at, lease_s=self._lease_ms / 1000, clock=self._clock)
            if self._held.add(held):
                fresh.append(held)
        self._meters.claimed += len(fresh)
        if self._traces is not None:
            self._traces.moved(answer.moves, since_ns=asked_ns)
            self._traces.claimed(fresh, since_ns=asked_ns)
        if self._verbose:
            for held in fresh:
                log.debug(events.JOB_CLAIMED, attempt=held.claimed.attempt, **held.facts)
        reserved, pending.reserved = pending.reserved, 0
        self._intake.used(self.queue, reserved, hungry=self._may_have_more(answer, pending.want))
        self._pool.admit(fresh)

    def _may_have_more(self, answer: Exchanged, want: int) -> bool:
        """Whether the queue stays hungry. Where a rate holds it back, it becomes so again by itself."""
        if answer.wait_ms is None and not want:
            return answer.more and self._intake.is_hungry(self.queue)
        self.close()
        if answer.wait_ms is None:
            return answer.more and answer.status is not Answer.PAUSED
        loop = asyncio.get_running_loop()
        self._wait = loop.call_later(answer.wait_ms / 1000, self._intake.set_hungry, self.queue)
        return False

    def _let_others_claim(self, pending: Pending) -> None:
        """No answer: the other queues must not wait for one. What this claim may have got is taken in nevertheless."""
        reserved, pending.reserved = pending.reserved, 0
        self._intake.give_up(self.queue, reserved)

    def _faulted(self, pending: Pending) -> None:
        """A fault that stays may come from one settlement. The claim is given up; what it may have got is recovered."""
        self._faults += 1
        if self._faults >= _FAULTS_BEFORE_ISOLATION:
            self._faults = 0
            self._pending = None
            self._outbox.isolate(pending.ended, alone=not pending.want)
