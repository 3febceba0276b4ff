"""What a worker's page tells of its leases: the worker's word compared with the queues' own."""

import msgspec
import pytest

from leaseforge import attempts, exchanges, operations, reads
from leaseforge.claimed import Claimed
from leaseforge.exchanges import Outcome
from leaseforge.held import held
from leaseforge.jobs import Progress
from leaseforge.keys import worker_command_key
from leaseforge.workers import Command, ReportedJob
from tests.support.live_queue import LiveQueue
from tests.support.sample_calls import REPORT


def reported(line: LiveQueue, *jobs: ReportedJob | Claimed) -> None:
    """The worker says that it runs these."""
    running = tuple(
        job if isinstance(job, ReportedJob) else ReportedJob(job.id, job.queue, job.type, job.fence, 1000)
        for job in jobs
    )
    report = msgspec.structs.replace(REPORT, running=running, running_count=len(running))
    line.run(exchanges.register_worker(report))


def test_a_running_job_is_held_under_its_lease(line: LiveQueue) -> None:
    line.add()
    claimed = line.claim_one(lease_ms=60_000)
    line.run(attempts.progress("line", claimed.id, claimed.token, percent=40, note="pages"))
    line.run(operations.cancel(claimed.id, operation="op"))
    reported(line, claimed)

    [one] = line.run(held(line.run(reads.worker("w1"))))

    assert (one.job.id, one.job.queue) == (claimed.id, "line")
    assert one.lease is not None
    assert 0 < one.lease.left.total_seconds() <= 60
    assert (one.lease.fence, one.lease.attempts) == (claimed.fence, 1)
    assert one.lease.progress == Progress(40, "pages")
    assert one.lease.cancel_requested


def test_a_lease_that_is_over_and_not_yet_taken_back_says_so(line: LiveQueue) -> None:
    line.add()
    claimed = line.claim_one()
    line.expire(claimed.id)
    reported(line, claimed)

    [one] = line.run(held(line.run(reads.worker("w1"))))

    assert one.lease is not None
    assert one.lease.left.total_seconds() < 0


def test_what_ended_or_another_worker_has_is_held_no_more(line: LiveQueue) -> None:
    line.add_many(2)
    ended, lost = line.claim(2)
    line.settle(ended, Outcome.COMPLETE)
    stale = ReportedJob(lost.id, "line", "work", lost.fence - 1, 1000)
    reported(line, ended, stale)

    assert [one.lease for one in line.run(held(line.run(reads.worker("w1"))))] == [None, None]


@pytest.mark.parametrize(
    "job",
    [
        ReportedJob("not an id", "line", "work", 1, 1000),
        ReportedJob("00000000-0000-4000-8000-000000000001", "no such {queue}", "work", 1, 1000),
        ReportedJob("00000000-0000-4000-8000-000000000001", "line", "work", 1, 1000),
    ],
)
def test_nonsense_in_a_report_is_shown_as_not_held(line: LiveQueue, job: ReportedJob) -> None:
    reported(line, job)

    assert [one.lease for one in line.run(held(line.run(reads.worker("w1"))))] == [None]


def test_foreign_data_in_the_place_of_a_lease_hides_no_other(line: LiveQueue) -> None:
    line.add_many(2)
    first, second = line.claim(2)
    reported(line, first, second)
    with line.planted(f"job:{first.id}", b"of somebody else"):
        leases = [one.lease for one in line.run(held(line.run(reads.worker("w1"))))]
    with line.planted("running", b"of somebody else"):
        nothing = [one.lease for one in line.run(held(line.run(reads.worker("w1"))))]

    assert nothing == [None, None]
    assert leases[0] is None
    assert leases[1] is not None


def test_what_a_worker_has_not_heard_yet_is_told_with_it(line: LiveQueue) -> None:
    reported(line)
    line.run(operations.command_worker("w1", "quiet"))

    assert line.run(reads.worker("w1")).wanted is Command.QUIET

    line.raw.set(worker_command_key("w1"), "damaged")
    assert line.run(reads.worker("w1")).wanted is None
