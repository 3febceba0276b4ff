"""Whether a worker gets work: what its probes and the program around it are told."""

from collections.abc import Sequence

from leaseforge.pulse import Pulse
from leaseforge.workers import WorkerState
from leaseforge_worker.custody import Custody
from leaseforge_worker.health import Health
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.waiting import WAIT_S

_SILENCE_S = WAIT_S + 8.0
"""A worker with a free slot claims or waits again every WAIT_S at least, and a call may take 5 s: one that was answered
nothing for this long is not ready."""


class Readiness:
    """Judges by what the worker's loops leave behind. From any thread, also while a handler blocks the loop."""

    def __init__(self, *, link: Link, meters: Meters, pulse: Pulse, lease_s: float) -> None:
        self._link = link
        self._meters = meters
        self._pulse = pulse
        self._lease_s = lease_s
        self._found_none = False

    @property
    def is_claiming(self) -> bool:
        """Whether jobs were asked for and Redis has answered; where every queue is served there may be none yet."""
        return self._found_none or "claim" in self._meters.calls

    def found(self, queues: Sequence[str]) -> None:
        """The queues there are; none at all is as ready for work as it gets."""
        self._found_none = self._found_none or not queues

    def ticked(self, custody: Custody) -> None:
        """A sweep is through: a full worker has nothing to ask for, and must not look late when a slot gets free."""
        if not custody.pool.has_free_slot():
            self._link.asked()

    def health(self, state: WorkerState, custody: Custody | None) -> Health:
        """What a probe may know."""
        redis_ok = not self._link.degraded and self._link.silence_s < max(_SILENCE_S, self._lease_s)
        takes_work = state is WorkerState.RUNNING and custody is not None and self._is_answered(custody)
        return Health(redis_ok=redis_ok, accepts_work=takes_work)

    def _is_answered(self, custody: Custody) -> bool:
        """Whether claims and waits for work are answered, or there is a reason for none."""
        if not custody.intake.queues:  # it serves every queue, and there is none: then it must look for one
            return self._pulse.ages_s().get("discovery", 0.0) < _SILENCE_S
        return not custody.pool.has_free_slot() or self._link.since_asked_s < _SILENCE_S
