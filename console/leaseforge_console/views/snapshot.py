"""What every page looks at: all queues and all workers at one instant."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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

    `now` is Redis's clock where it is known, so ages do not depend on ours. `foreign_keys` are those of no queue that
    hold something else: what they should tell is missing here. `serving` are the workers that claim, by queue.
    """

    now: datetime
    queues: tuple[QueueInfo, ...]
    workers: tuple[WorkerInfo, ...]
    operations: Going = NO_OPERATIONS
    foreign_keys: tuple[str, ...] = ()
    serving: Mapping[str, tuple[WorkerInfo, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        queues: Iterable[QueueInfo],
        workers: Iterable[WorkerInfo],
        operations: Going = NO_OPERATIONS,
        foreign_keys: Iterable[str] = (),
    ) -> "Snapshot":
        """Puts both in order."""
        by_name = tuple(sorted(queues, key=lambda queue: queue.name))
        read_at = max((queue.as_of_ms for queue in by_name), default=0)
        now = datetime.fromtimestamp(read_at / 1000, UTC) if read_at else datetime.now(UTC)
        in_order = tuple(sorted(workers, key=lambda worker: (worker.host, worker.pid, worker.id)))
        return cls(now, by_name, in_order, operations, tuple(foreign_keys), _serving(in_order))

    def total(self, state: JobState, queue: str = "") -> int:
        """Jobs in this state, of one queue or over all."""
        return sum(info.counts.get(state, 0) for info in self.queues if queue in ("", info.name))

    def workers_of(self, queue: str) -> tuple[WorkerInfo, ...]:
        """Workers that claim from this queue now: quiet, stopping and lost ones do not."""
        return self.serving.get(queue) or self.serving.get(ALL_QUEUES, ())


def _serving(workers: Sequence[WorkerInfo]) -> Mapping[str, tuple[WorkerInfo, ...]]:
    """The workers that claim from each queue that is named, those that claim from all of them among them."""
    found: dict[str, list[WorkerInfo]] = {}
    names = {name for worker in workers if worker.state is WorkerState.RUNNING for name in worker.queues}
    for worker in workers:
        if worker.state is WorkerState.RUNNING:
            for name in names if ALL_QUEUES in worker.queues else dict.fromkeys(worker.queues):
                found.setdefault(name, []).append(worker)
    return {name: tuple(serving) for name, serving in found.items()}
