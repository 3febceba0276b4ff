"""Jobs that fail until they are dead, and jobs whose time has come."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from bench.bare import MAX_ATTEMPTS
from bench.filling import PAYLOAD, account, fill
from bench.measuring import Figures, Meter, until
from bench.processes import BareSpec, bare_loops, workers
from bench.server import QUEUE, Bench, WorkloadFailed
from bench.workload import Workload
from leaseforge import Client, JobState, new_job
from leaseforge.limits import CHUNK, MAX_BULK

_STORED_A_SECOND = 5_000
_READY_WITHIN_S = 3.0


@dataclass(frozen=True, slots=True)
class WorkerDeaths:
    """One worker process; each job is tried three times, with a ms between."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Runs so many to death."""
        fill(bench, "fails", jobs, paused=True)
        with Client(bench.url) as client, workers(bench) as children:
            meter = Meter(bench, children.pids)
            client.resume(QUEUE)
            until(lambda: bench.ended(JobState.DEAD), jobs, what="jobs are dead", check=children.check)
            figures = meter.stop(jobs)
        account(bench, jobs, state=JobState.DEAD)
        return figures | {"attempts": MAX_ATTEMPTS}


@dataclass(frozen=True, slots=True)
class BareDeaths:
    """A bare loop that fails whatever it claims."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Runs so many to death."""
        fill(bench, "fails", jobs)
        with bare_loops(bench, BareSpec(bench.url, CHUNK, fails=True)) as children:
            meter = Meter(bench, children.pids)
            children.go()
            until(lambda: bench.ended(JobState.DEAD), jobs, what="jobs are dead", check=children.check)
            figures = meter.stop(jobs)
        account(bench, jobs, state=JobState.DEAD)
        return figures | {"attempts": MAX_ATTEMPTS}


@dataclass(frozen=True, slots=True)
class WorkerPromotion:
    """One idle worker process, from the moment at which all jobs become due to the last completion."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Runs so many."""
        with workers(bench) as children:
            due = time.time() + _READY_WITHIN_S + jobs / _STORED_A_SECOND
            _schedule(bench, jobs, due)
            if (early := due - time.time()) < 0:
                raise WorkloadFailed("storing the scheduled jobs took longer than they wait: too busy a machine")
            time.sleep(early)
            meter = Meter(bench, children.pids)
            until(lambda: bench.ended(JobState.COMPLETED), jobs, what="jobs are completed", check=children.check)
            figures = meter.stop(jobs)
        account(bench, jobs)
        return figures


@dataclass(frozen=True, slots=True)
class BarePromotion:
    """A bare loop that finds all jobs due."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Runs so many."""
        due = time.time() + _READY_WITHIN_S + jobs / _STORED_A_SECOND
        _schedule(bench, jobs, due)
        with bare_loops(bench, BareSpec(bench.url, CHUNK)) as children:
            time.sleep(max(0.0, due - time.time()) + 0.01)
            meter = Meter(bench, children.pids)
            children.go()
            until(lambda: bench.ended(JobState.COMPLETED), jobs, what="jobs are completed", check=children.check)
            figures = meter.stop(jobs)
        account(bench, jobs)
        return figures


def _schedule(bench: Bench, jobs: int, due: float) -> None:
    at = datetime.fromtimestamp(due, UTC)
    with Client(bench.url) as client:
        for start in range(0, jobs, MAX_BULK):
            size = min(MAX_BULK, jobs - start)
            client.enqueue_many([new_job("nothing", PAYLOAD, queue=QUEUE, at=at) for _ in range(size)])


ENDS = (
    Workload("retry until dead", WorkerDeaths(), BareDeaths(), share=0.1),
    Workload("promotion", WorkerPromotion(), BarePromotion(), share=0.2),
)
