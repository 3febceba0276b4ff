"""Worker processes on a full queue, and bare loops on the same."""

from dataclasses import dataclass

from bench.filling import account, fill
from bench.measuring import Figures, Meter, until
from bench.processes import BareSpec, bare_loops, workers
from bench.server import QUEUE, Bench
from bench.workload import Workload
from leaseforge import Client, JobState
from leaseforge.limits import CHUNK


@dataclass(frozen=True, slots=True)
class WorkerDrain:
    """Worker processes with the task `nothing`, from resume to the last completion. None: the setting's default."""

    concurrency: int | None = None
    batch: int | None = None
    processes: int = 1

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Drains so many."""
        fill(bench, "nothing", jobs, paused=True)
        with (
            Client(bench.url) as client,
            workers(bench, processes=self.processes, concurrency=self.concurrency, batch=self.batch) as children,
        ):
            meter = Meter(bench, children.pids)
            client.resume(QUEUE)
            until(lambda: bench.ended(JobState.COMPLETED), jobs, what="jobs are completed", check=children.check)
            figures = meter.stop(jobs)
        account(bench, jobs)
        return figures


@dataclass(frozen=True, slots=True)
class BareDrain:
    """As many processes that call the same exchange with the same batch and do nothing else."""

    batch: int = CHUNK
    processes: int = 1

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Drains so many."""
        fill(bench, "nothing", jobs)
        with bare_loops(bench, BareSpec(bench.url, self.batch), processes=self.processes) as children:
            meter = Meter(bench, children.pids)
            children.go()
            until(lambda: bench.ended(JobState.COMPLETED), jobs, what="jobs are completed", check=children.check)
            figures = meter.stop(jobs)
        account(bench, jobs)
        return figures


# One job a trip takes ten times as long a job: a fifth of the jobs tells as much. Those with one floor stand together.
DRAINS = (
    Workload("drain c=4 batch=1", WorkerDrain(4, 1), BareDrain(1), share=0.2),
    Workload("drain c=16 batch=1", WorkerDrain(16, 1), BareDrain(1), share=0.2),
    Workload("drain c=4 batch=16", WorkerDrain(4, 16), BareDrain(16)),
    Workload("drain c=16 batch=16", WorkerDrain(16, 16), BareDrain(16)),
    Workload("drain c=4", WorkerDrain(4), BareDrain()),
    Workload("drain", WorkerDrain(), BareDrain()),
    Workload("drain, 4 processes", WorkerDrain(processes=4), BareDrain(processes=4)),
    Workload("drain, 8 processes", WorkerDrain(processes=8), BareDrain(processes=8)),
    # Every claim is contended: four processes, each with one slot and one job a trip.
    Workload("claims, 4 processes", WorkerDrain(1, 1, processes=4), BareDrain(1, processes=4), share=0.2),
)
