"""What every page looks at: all queues and all workers at one instant."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from leaseforge.bulk import Going
from leaseforge.jobs import JobState
from leaseforge.queues import QueueInfo
from leaseforge.workers import WorkerInfo, WorkerState

ALL_QUEUES = "*"
"""In a worker's list of queues: whatever queues there are."""


NO_OPERATIONS = Going()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Queues by name, workers by id, and how many bulk operations are not over.

    `now` is Redis's clock where it is known, so ages do not depend on ours.
    """

    now: datetime
    queues: tuple[QueueInfo, ...]
    workers: tuple[WorkerInfo, ...]
    operations: Going = NO_OPERATIONS

    @classmethod
    def of(
        cls, queues: Iterable[QueueInfo], workers: Iterable[WorkerInfo], operations: Going = NO_OPERATIONS
    ) -> "Snapshot":
        """Puts both in order."""
        by_name = tuple(sorted(queues, key=lambda queue: queue.name))
        read_at = max((queue.as_of_ms for queue in by_name), default=0)
        now = datetime.fromtimestamp(read_at / 1000, UTC) if read_at else datetime.now(UTC)
        in_order = tuple(sorted(workers, key=lambda worker: (worker.host, worker.pid, worker.id)))
        return cls(now, by_name, in_order, operations)

    def total(self, state: JobState, queue: str = "") -> int:
        """Jobs in this state, of one queue or over all."""
        return sum(info.counts.get(state, 0) for info in self.queues if queue in ("", info.name))

    def workers_of(self, queue: str) -> tuple[WorkerInfo, ...]:
        """Workers that claim from this queue now: quiet, stopping and lost ones do not."""
        return tuple(
            worker
            for worker in self.workers
            if worker.state is WorkerState.RUNNING and (queue in worker.queues or ALL_QUEUES in worker.queues)
        )
