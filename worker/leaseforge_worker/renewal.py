"""Keeps leases alive from a thread of its own, whatever the handlers do to the event loop."""

import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

import structlog

from leaseforge import events, exchanges
from leaseforge.answers import Answer
from leaseforge.calls import Call
from leaseforge.errors import StoreError
from leaseforge.limits import CHUNK
from leaseforge.pulse import Pulse
from leaseforge_worker.held import Clock, Held, HeldJobs
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.pauses import Pauses

log = structlog.get_logger()

T = TypeVar("T")

_NAMED = 10
"""Jobs named in a warning; there may be hundreds."""


class RunsSync(Protocol):
    """The one thing the renewal thread needs of a store."""

    def run(self, call: Call[T], /) -> T:
        """Carries out a call. Raises StoreError."""
        ...


class Renewal:
    """Renews every held lease each third of its length, one call a queue and 200 jobs.

    `lost` is told of jobs that another claim has, `cancelled` of jobs an operator wants stopped,
    `renewed` that a pass is through; all three are called in this thread. A network error is tried
    again without end: only Redis can say that a lease is gone. `each_pass` follows every pass.
    """

    def __init__(
        self,
        *,
        store: RunsSync,
        held: HeldJobs,
        lease_ms: int,
        lost: Callable[[Held], None],
        cancelled: Callable[[Held], None],
        renewed: Callable[[], None],
        each_pass: Callable[[], None],
        link: Link,
        meters: Meters,
        pulse: Pulse,
        clock: Clock = time.monotonic,
    ) -> None:
        self._store = store
        self._held = held
        self._lease_ms = lease_ms
        self._period_s = lease_ms / 3000
        self._lost = lost
        self._cancelled = cancelled
        self._renewed = renewed
        self._each_pass = each_pass
        self._link = link
        self._meters = meters
        self._pulse = pulse
        self._clock = clock
        self._wake = threading.Event()
        self._stopped = False
        self._early = False
        self._failed: set[str] = set()
        self._thread: threading.Thread | None = None
        self._pauses = Pauses(first_s=min(0.02, self._period_s), longest_s=lease_ms / 10_000)

    def start(self) -> None:
        """Starts the thread."""
        self._thread = threading.Thread(target=self.run, name="renewal", daemon=True)
        self._thread.start()

    def refresh(self) -> None:
        """Asks for a pass now: something waits for its lease to be confirmed. Callable from any thread."""
        self._early = True
        self._wake.set()

    def stop(self, *, within_s: float) -> None:
        """Ends the thread; one that waits for Redis is left behind after `within_s`."""
        self._stopped = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(within_s)

    def run(self) -> None:
        """Passes until stopped. A crash is logged and survived: without this thread every lease runs out."""
        due = self._clock()
        while not self._stopped:
            self._pulse.beat("renewal")
            if not self._early:
                self._wake.wait(max(0.0, due - self._clock()))
            if self._stopped:
                return
            self._wake.clear()
            self._early = False
            started = self._clock()
            try:
                self.run_once()
                self._each_pass()
            except StoreError as error:
                self._link.failed("renewal", error)
                self._wake.wait(self._pauses.next_s())
                due = self._clock()
            except Exception:
                self._pulse.crashed("renewal")
                log.exception(events.LOOP_CRASHED, loop="renewal")
                self._wake.wait(self._pauses.next_s())
                due = self._clock()
            else:
                self._pauses.reset()
                due = started + self._period_s

    def run_once(self) -> None:
        """One pass over everything held. Raises StoreError, after all other queues were tried.

        Queues that failed last time come last: one that cannot be reached must not cost the others their leases.
        """
        failure: StoreError | None = None
        for queue in sorted(self._held.queues(), key=self._failed.__contains__):
            try:
                self._renew_queue(queue)
            except StoreError as error:
                self._failed.add(queue)
                failure = failure or error
            else:
                self._failed.discard(queue)
        self._renewed()
        if failure is not None:
            raise failure

    def _renew_queue(self, queue: str) -> None:
        held = self._held.of(queue)
        for first in range(0, len(held), CHUNK):
            self._renew(queue, held[first : first + CHUNK])

    def _renew(self, queue: str, chunk: list[Held]) -> None:
        call = exchanges.renew(queue, lease_ms=self._lease_ms, held=[held.key for held in chunk])
        sent_at = self._clock()
        answers = self._store.run(call)
        self._meters.called("heartbeat", self._clock() - sent_at)
        self._link.worked("renewal")
        self._watch_gap(chunk, sent_at)
        for held, answer in zip(chunk, answers, strict=True):
            if answer is Answer.OK:
                held.confirmed_at = sent_at
            elif answer is Answer.CANCELLED:
                held.confirmed_at = sent_at
                self._cancelled(held)
            elif answer is Answer.FENCED:
                self._lost(held)

    def _watch_gap(self, chunk: list[Held], now: float) -> None:
        """Something that keeps this thread from running (C code that holds the GIL, a stopped process) shows here."""
        gap = max(now - held.confirmed_at for held in chunk)
        if gap > self._meters.longest_gap_s:
            self._meters.longest_gap_s = gap
        if gap > self._lease_ms / 1500:
            late = [held.claimed.id for held in chunk if now - held.confirmed_at > self._lease_ms / 1500]
            log.warning(events.RENEWAL_LATE, gap_s=round(gap, 3), jobs=len(late), job_ids=late[:_NAMED])
