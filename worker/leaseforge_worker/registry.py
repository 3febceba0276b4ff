"""Reports this worker to the registry, and obeys what operators answer."""

import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from leaseforge import events, exchanges, forms
from leaseforge.errors import StoreError
from leaseforge.workers import ReportedJob, WorkerReport, WorkerState
from leaseforge_worker.held import Clock, Held
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.renewal import RunsSync

log = structlog.get_logger()

_NAMED = 100
"""Running jobs named in a report; the count is always whole."""


class Registration:
    """One worker's entry in the registry.

    `run_once` follows each renewal in the renewal thread, so that a worker whose event loop is
    blocked still counts as alive. The first report that gets through is followed by what payloads look like
    (`payloads`, a JSON Schema by type), once. `command` is called with quiet, resume or stop when an operator asked
    for it.
    """

    def __init__(
        self,
        *,
        store: RunsSync,
        run_id: str,
        version: str,
        types: Sequence[str],
        slots: int,
        period_s: float,
        queues: Callable[[], Sequence[str]],
        running: Callable[[], Iterable[Held]],
        state: Callable[[], WorkerState],
        command: Callable[[str], None],
        link: Link,
        meters: Meters,
        payloads: Mapping[str, bytes],
        clock: Clock = time.monotonic,
    ) -> None:
        self.consumers: dict[str, int] = {}
        """Live workers of each queue, as of the last report; this one included."""
        self._store = store
        self._run_id = run_id
        self._version = version
        self._types = tuple(types)
        self._slots = slots
        self._ttl_ms = round(max(3 * period_s, 3.0) * 1000)
        self._queues = queues
        self._running = running
        self._state = state
        self._command = command
        self._link = link
        self._meters = meters
        self._clock = clock
        self._unpublished = dict(payloads)
        self._heard = ""
        self._started_ms = int(time.time() * 1000)
        self._host = socket.gethostname()

    def run_once(self) -> None:
        """One report. A failure waits for the next: leases matter more."""
        try:
            registered = self._store.run(exchanges.register_worker(self.report(), heard=self._heard))
        except StoreError as error:
            self._link.failed("registry", error)
            return
        self._link.worked("registry")
        self.consumers = dict(registered.consumers)
        if registered.command and registered.command_id != self._heard:
            self._heard = registered.command_id
            log.info(events.WORKER_COMMAND, command=registered.command)
            self._command(registered.command)
        self._publish()

    def _publish(self) -> None:
        if not self._unpublished:
            return
        with suppress(StoreError):  # it follows the next report; whether Redis answers is what reports tell
            self._store.run(forms.publish(self._unpublished))
            self._unpublished = {}

    def leave(self) -> None:
        """Takes this worker off the list. Raises StoreError."""
        self._store.run(exchanges.deregister_worker(self._run_id, tuple(self._queues())))

    def report(self) -> WorkerReport:
        """What this worker says of itself now."""
        running = list(self._running())
        wall, now = time.time(), self._clock()
        return WorkerReport(
            id=self._run_id,
            host=self._host,
            pid=os.getpid(),
            version=self._version,
            queues=tuple(self._queues()),
            types=self._types,
            slots=self._slots,
            state=self._state(),
            rss_bytes=rss_bytes(),
            started_ms=self._started_ms,
            ttl_ms=self._ttl_ms,
            longest_renewal_gap_ms=round(self._meters.longest_gap_s * 1000),
            running_count=len(running),
            running=tuple(
                ReportedJob(
                    id=held.claimed.id,
                    queue=held.claimed.queue,
                    type=held.claimed.type,
                    fence=held.claimed.fence,
                    started_ms=int((wall - (now - held.started_at)) * 1000),
                )
                for held in running[:_NAMED]
            ),
        )


def rss_bytes() -> int:
    """Memory of this process that is in RAM now; where the system does not say, the highest it ever was."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
