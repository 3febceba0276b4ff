"""A worker's memory does not grow with the jobs it has had."""

from collections.abc import Callable

import pytest

from leaseforge.store import SyncStore
from tests.soak.memory import watch_memory
from tests.support import Process

BYTES_PER_JOB = 150
"""30 MB over all of them. One object forgotten a job is more than this."""


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_memory_is_flat_over_two_hundred_thousand_jobs(
    processes: Callable[..., Process], sync_store: SyncStore, redis_url: str
) -> None:
    memory = watch_memory(processes, sync_store, redis_url, jobs=200_000)

    print(memory)
    assert memory.bytes_per_job < BYTES_PER_JOB, str(memory)
