"""Attempts of one queue that ended and wait to be settled, and what became of their settlements."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import structlog

from leaseforge import events
from leaseforge.answers import Answer
from leaseforge.exchanges import Exchanged, Settlement
from leaseforge.jobs import JobState
from leaseforge.limits import CHUNK, MAX_FOLLOW_UPS
from leaseforge_worker.held import Held, HeldJobs
from leaseforge_worker.metrics import Meters

if TYPE_CHECKING:
    from leaseforge_worker.job_traces import JobTraces

log = structlog.get_logger()

MAX_BYTES = 4 * 1024 * 1024
"""Results and follow-ups one call carries: a longer script call would hold up everybody else's."""

_EVENTS = {
    JobState.COMPLETED: events.JOB_COMPLETED,
    JobState.RETRYING: events.JOB_RETRY_SCHEDULED,
    JobState.DEAD: events.JOB_DEAD,
    JobState.READY: events.JOB_RELEASED,
    JobState.CANCELLED: events.JOB_CANCELLED,
}


class Outbox:
    """Hands settlements out in the order attempts ended, and lets jobs go once Redis has answered for them.

    `forward` is called with the queue when a completion stored follow-ups for other queues.
    """

    def __init__(
        self,
        queue: str,
        *,
        held: HeldJobs,
        meters: Meters,
        forward: Callable[[str], None],
        verbose: bool,
        traces: "JobTraces | None" = None,
    ) -> None:
        self._queue = queue
        self._held = held
        self._meters = meters
        self._forward = forward
        self._verbose = verbose
        self._traces = traces
        self._ended: deque[Held] = deque()
        self._alone = 0

    def __len__(self) -> int:
        return len(self._ended)

    @property
    def is_isolating(self) -> bool:
        """Whether settlements go one by one, to find the one that breaks the script."""
        return self._alone > 0

    def put(self, held: Held) -> None:
        """An attempt ended."""
        self._ended.append(held)

    def take(self) -> list[Held]:
        """The attempts that ended first: no more than a call may carry, in number, follow-ups and bytes."""
        most = 1 if self._alone else CHUNK
        taken: list[Held] = []
        size = 0
        follow_ups = 0
        while self._ended and len(taken) < most:
            settlement = settlement_of(self._ended[0])
            size += len(settlement.result)
            if settlement.follow_ups:
                size += sum(len(job.payload) for job in settlement.follow_ups)
                follow_ups += len(settlement.follow_ups)
            if taken and (size > MAX_BYTES or follow_ups > MAX_FOLLOW_UPS):
                break
            taken.append(self._ended.popleft())
        return taken

    def settled(self, ended: Sequence[Held], answer: Exchanged) -> None:
        """Redis answered for these attempts, each on its own: they are held no more."""
        leaves_queue = False
        for held, settled, state in zip(ended, answer.settled, answer.states, strict=True):
            self._held.discard(held)
            follow_ups = settlement_of(held).follow_ups
            if self._traces is not None:
                self._traces.settled(held, settlement_of(held), settled, state)
            if follow_ups and settled is not Answer.FENCED:
                leaves_queue = leaves_queue or any(job.queue != self._queue for job in follow_ups)
            if settled is Answer.FENCED:
                self._meters.fenced += 1
                log.warning(events.JOB_FENCED, at="settle", **held.facts)
            elif state is not None:
                self._meters.ended(state)
                if self._verbose or state is JobState.DEAD:
                    self._tell(held, state)
        self._alone = max(0, self._alone - len(ended))
        if leaves_queue:
            self._forward(self._queue)

    def isolate(self, ended: Sequence[Held], *, alone: bool) -> None:
        """A call with these settlements breaks the script: they go one by one, and one that breaks it alone is dropped.

        `alone`: the call carried nothing else. The dropped one's lease runs out and its job is
        recovered, so that it is never lost.
        """
        if alone and len(ended) == 1:
            [culprit] = ended
            log.error(events.SETTLEMENT_REFUSED, **culprit.facts)
            self._held.discard(culprit)
            self._alone = max(0, self._alone - 1)
        else:
            self._ended.extendleft(reversed(ended))
            self._alone = len(ended)

    def _tell(self, held: Held, state: JobState) -> None:
        settlement = settlement_of(held)
        facts: dict[str, Any] = {**held.facts}
        if settlement.error_kind:
            facts["error_kind"] = settlement.error_kind
        if state is JobState.RETRYING:
            facts["delay_ms"] = settlement.delay_ms
        level = log.info if state is JobState.DEAD else log.debug
        level(_EVENTS[state], attempt=held.claimed.attempt, **facts)


def settlement_of(held: Held) -> Settlement:
    """The settlement of an attempt that ended."""
    if held.settlement is None:
        raise ValueError(f"job {held.claimed.id} has not ended, or its lease is lost: there is nothing to settle")
    return held.settlement
