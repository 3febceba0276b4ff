"""The CPU-bound example: right numbers, progress on the way, and an end when it is told to stop."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.primes import BLOCK, Stopped, count_primes
from leaseforge import Client, JobState
from leaseforge.testing import run_task
from leaseforge_worker.worker import Worker
from tests.support import eventually_sync


@pytest.mark.parametrize(
    ("below", "count"),
    [(0, 0), (2, 0), (3, 1), (100, 25), (BLOCK, 5133), (BLOCK + 3, 5133), (1_000_000, 78_498)],
)
def test_primes_are_counted(below: int, count: int) -> None:
    trial = run_task(count_primes, {"below": below}).raise_if_failed()

    assert trial.result == count
    assert (trial.progress is None) == (below <= 2)
    if trial.progress is not None:
        assert (trial.progress.percent, trial.progress.note) == (100, f"{count:,} primes")


def test_it_ends_when_it_is_told_to_stop() -> None:
    trial = run_task(count_primes, {"below": 1_000_000}, cancelled=True)

    assert (trial.state, type(trial.exception)) == (JobState.CANCELLED, Stopped)


@pytest.mark.parametrize("below", [-1, 100_000_001, "many"])
def test_what_would_never_end_is_refused(below: object) -> None:
    assert run_task(count_primes, {"below": below}).reason == "bad_payload"


@pytest.fixture
def client(redis_url: str) -> Iterator[Client]:
    with Client(redis_url) as made:
        yield made


def test_a_worker_counts_in_a_child_process_and_kills_what_is_no_longer_wanted(client: Client, redis_url: str) -> None:
    before = children()
    with Worker.of([count_primes], redis_url=redis_url, lease_s=2.0):
        small, large = (client.enqueue("count_primes", {"below": below}).id for below in (1000, 100_000_000))
        eventually_sync(lambda: client.job(small).state is JobState.COMPLETED, within_s=30)
        eventually_sync(lambda: client.job(large).progress, within_s=30)
        assert children() - before
        client.cancel(large, operation="enough of it")
        eventually_sync(lambda: client.job(large).state is JobState.CANCELLED, within_s=30)

    assert client.job(small).result == b"168"
    eventually_sync(lambda: not children() - before)


def children() -> set[str]:
    """Processes that threads of this one have started."""
    listed = Path("/proc/self/task").glob("*/children")
    return {process for thread in listed for process in thread.read_text().split()}
