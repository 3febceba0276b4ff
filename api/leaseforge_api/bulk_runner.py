"""Carries out bulk operations, for as long as the server runs; one server process at a time does it.

Everything it knows is in Redis too, so another process goes on within seconds when this one dies: `bulk_work` says how.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import suppress

import structlog

from leaseforge import bulk, bulk_calls, bulk_work, events, limits, statistics
from leaseforge.answers import Answer
from leaseforge.bell import Bell
from leaseforge.bulk_calls import OFFICE
from leaseforge.bulk_fields import count_fields, found_fields, operation_from
from leaseforge.bulk_pace import Breath, FailureWatch, Pace
from leaseforge.bulk_records import BulkOperation, BulkState
from leaseforge.bulk_work import Work
from leaseforge.errors import BulkNotPossible, LeaseforgeError, ScriptFault
from leaseforge.pulse import Pulse
from leaseforge.store import Store
from leaseforge_api.bulk_endings import ending
from leaseforge_auth.audit.trail import AuditTrail

OFFICE_S = 4.0
IDLE_S = 1.0
BUSY_S = 0.25
SLICE_S = 0.1
"""How long one operation is worked on before the others have their turn."""
JUDGE_EVERY_S = 0.5
UNSTARTED_S = 3600.0
"""After this long nobody will run what was counted: it is dropped, and makes room for others."""

log = structlog.get_logger()


async def keep_running_bulk(store: Store, trail: AuditTrail, stop: asyncio.Event, bell: Bell, pulse: Pulse) -> None:
    """Carries out what operators asked for until `stop`. The bell says that something was asked for just now."""
    runner = BulkRunner(store, trail)
    while not stop.is_set():
        pulse.beat("bulk")
        wait_s = IDLE_S
        try:
            wait_s = await runner.turn()
        except LeaseforgeError as error:
            log.warning(events.BULK_LATE, error=str(error))
        except Exception as error:  # a defect here must not end a server that does much more
            pulse.crashed("bulk")
            log.error(events.LOOP_CRASHED, loop="bulk", exc_info=error)
        await bell.wait(stop, max(0.001, wait_s))


class _Hand:
    """One operation in this runner's hands."""

    def __init__(self, work: Work, now: float) -> None:
        order = work.operation.order
        self.work = work
        self.run = work.operation.run
        self.pace = Pace(order.rate_per_second, now)
        self.breath = Breath()
        self.counting = Breath(limits.OPERATION_CHUNK)
        known = work.counts()
        self.watch = FailureWatch(order.stop_at_failure_rate, well=known.well, again=known.again)
        self.taken_up_at = now
        self.judged_at = now
        self.noted_at = now


class BulkRunner:
    """The runner of one process. `turn` does what is due and says in how many seconds something is again."""

    def __init__(
        self,
        store: Store,
        trail: AuditTrail,
        *,
        clock: Callable[[], float] = time.monotonic,
        most: int = limits.MAX_OPERATION_JOBS,
    ) -> None:
        self._store = store
        self._trail = trail
        self._clock = clock
        self._most = most
        self._holder = secrets.token_hex(8)
        self._term = 0
        self._hands: dict[str, _Hand] = {}

    async def turn(self) -> float:
        """Works a little on each operation, if this process leads. Raises StoreError when Redis is away."""
        if not await self._leads():
            return IDLE_S
        _, rows = await self._store.run(bulk_calls.read_operations(bulk_calls.ALIVE, offset=0, limit=limits.MAX_PAGE))
        operations = [found for row in reversed(rows) if (found := operation_from(*row)) is not None]
        self._hands = {one.id: self._hands[one.id] for one in operations if one.id in self._hands}
        wait_s = BUSY_S if operations else IDLE_S
        for operation in operations:
            if not await self._leads():
                return IDLE_S
            try:
                wait_s = min(wait_s, await self._advance(operation))
            except ScriptFault as fault:
                await self._fail(operation, fault)
        return wait_s

    async def _leads(self) -> bool:
        """Whether this process holds the office; one that lost it forgets what it knew."""
        plan = statistics.lead(OFFICE, holder=self._holder, ttl_ms=round(OFFICE_S * 1000))
        term = await self._store.run(plan)
        if term != self._term:
            self._term, self._hands = term, {}
        return term > 0

    async def _advance(self, operation: BulkOperation) -> float:
        """Does what is due for one operation; the seconds until there is more."""
        hand = await self._hand_of(operation)
        match operation.state:
            case BulkState.COLLECTING:
                return await self._collect(hand)
            case BulkState.RUNNING:
                return await self._act(hand)
            case BulkState.READY if self._clock() - hand.taken_up_at > UNSTARTED_S:
                await self._forget(operation)
            case BulkState.STOPPED | BulkState.DONE | BulkState.FAILED | BulkState.ABORTED:
                await self._settle(hand)
            case BulkState.PAUSED if hand.work.counts() != operation.counts:
                await self._note(hand, operation.state)
        return BUSY_S

    async def _hand_of(self, operation: BulkOperation) -> _Hand:
        """What is known of the operation; read from the queues when it is new here."""
        hand = self._hands.get(operation.id)
        # The same id asked for at another moment is another one: Redis has lost what was known of the first.
        if hand is None or hand.work.operation.as_of_ms != operation.as_of_ms:
            work = await self._store.run(bulk_work.take_up(operation))
            hand = self._hands[operation.id] = _Hand(work, self._clock())
        elif hand.run != operation.run:
            hand.work.operation = operation
            hand = self._hands[operation.id] = _Hand(hand.work, self._clock())
        hand.work.operation, hand.run = operation, operation.run
        return hand

    async def _collect(self, hand: _Hand) -> float:
        began, work = self._clock(), hand.work
        while (now := self._clock()) - began < SLICE_S:
            await asyncio.sleep(hand.counting.wait_s(now))
            asked_at = self._clock()
            plan = bulk_work.collect(work, term=self._term, most=self._most, look=hand.counting.chunk)
            word = await self._store.run(plan)
            hand.counting.took((now := self._clock()) - asked_at, now)
            if word == bulk_work.OVER:
                await self._be_ready(hand)
                return BUSY_S
            if word == Answer.FENCED:
                return BUSY_S
        await self._note(hand, BulkState.COLLECTING)
        return 0.0

    async def _be_ready(self, hand: _Hand) -> None:
        """What was found is complete: it is counted and shown, and may be run."""
        work = hand.work
        sample = await self._store.run(bulk_work.sample(work))
        queues = [queue for queue in work.queues if work.parts[queue].found]
        fields = found_fields(queues, sample, is_cut=work.is_cut)
        answer = await self._note(hand, BulkState.COLLECTING, BulkState.READY, **fields)
        if answer is Answer.OK:
            await self._store.run(bulk_work.drop_empty(work))
            log.info(events.BULK_READY, operation=work.operation.id, jobs=work.found)

    async def _act(self, hand: _Hand) -> float:
        began, work = self._clock(), hand.work
        while (now := self._clock()) - began < SLICE_S:
            queue = work.next_to_act_on()
            if queue is None:
                await self._note(hand, BulkState.RUNNING, BulkState.DONE)
                return 0.0
            if await self._must_stop(hand, now):
                return BUSY_S
            if (wait_s := hand.pace.wait_s(now)) > 0:
                await self._note_now_and_then(hand, now)
                return wait_s
            await asyncio.sleep(hand.breath.wait_s(now))
            asked_at, chunk = self._clock(), min(hand.pace.chunk, hand.breath.chunk)
            word, taken = await self._store.run(bulk_work.act(work, queue, term=self._term, limit=chunk))
            hand.pace.took(taken, asked_at)
            hand.breath.took((answered_at := self._clock()) - asked_at, answered_at)
            if word == bulk_work.GONE:
                await self._note(hand, BulkState.RUNNING, BulkState.FAILED, error="what was written down is gone")
                return 0.0
            if word in ("halted", "fenced"):
                return BUSY_S
        await self._note_now_and_then(hand, now)
        return 0.0

    async def _note_now_and_then(self, hand: _Hand, now: float) -> None:
        """What is shown of a running operation need not be newer than this."""
        if now - hand.noted_at >= BUSY_S:
            hand.noted_at = now
            await self._note(hand, BulkState.RUNNING)

    async def _must_stop(self, hand: _Hand, now: float) -> bool:
        """Whether too many of the jobs failed again: then it is stopped."""
        if not hand.watch.is_on or now - hand.judged_at < JUDGE_EVERY_S:
            return False
        hand.judged_at = now
        await self._store.run(bulk_work.judge(hand.work))
        counts = hand.work.counts()
        share = hand.watch.saw(counts.well, counts.again)
        if share is None:
            return False
        error = f"{share:.0%} of the jobs it let run once more failed again"
        await self._note(hand, BulkState.RUNNING, BulkState.STOPPED, error=error)
        return True

    async def _forget(self, operation: BulkOperation) -> None:
        with suppress(BulkNotPossible):  # somebody runs it at this very moment
            await self._store.run(bulk.discard(operation.id, user="", reason="nobody ran it within an hour"))

    async def _settle(self, hand: _Hand) -> None:
        """The end of a run: told to the audit trail once, and of what is over nothing is left in the queues."""
        operation = hand.work.operation
        is_over = operation.state.is_over
        if operation.run > operation.reported:
            await self._trail.append(ending(hand.work))
            log.info(events.BULK_ENDED, operation=operation.id, state=operation.state, done=hand.work.counts().done)
            await self._note(hand, operation.state, reported=str(operation.run))
        if is_over:
            await self._store.run(bulk_work.drop(hand.work))
            await self._close(operation)

    async def _fail(self, operation: BulkOperation, fault: ScriptFault) -> None:
        """A fault inside Redis: repeating would run into it again."""
        log.error(events.BULK_FAILED, operation=operation.id, error=str(fault))
        if operation.state.is_over:
            await self._close(operation)
        elif operation.state in (BulkState.COLLECTING, BulkState.RUNNING):
            fields = {"error": str(fault)[:200]}
            call = bulk_calls.note(
                operation.id, fields, term=self._term, before=operation.state, after=BulkState.FAILED
            )
            await self._store.run(call)

    async def _note(self, hand: _Hand, before: BulkState, after: BulkState | None = None, **fields: str) -> Answer:
        """Writes the counts, and the state if it changes and nobody was faster."""
        call = bulk_calls.note(
            hand.work.operation.id,
            count_fields(hand.work.counts()) | fields,
            term=self._term,
            before=before,
            after=after or before,
        )
        answer, _ = await self._store.run(call)
        return answer

    async def _close(self, operation: BulkOperation) -> None:
        """Nothing is left to be done for it. Its counts stay as written last: the queues know them no more."""
        call = bulk_calls.note(
            operation.id, {}, term=self._term, before=operation.state, after=operation.state, is_over=True
        )
        await self._store.run(call)
