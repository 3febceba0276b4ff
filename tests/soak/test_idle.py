"""Real workers without work ask little of Redis, one of them as well as a hundred."""

from collections.abc import Callable

import pytest

from leaseforge.store import SyncStore
from tests.soak.idle import measure_idle
from tests.support import Process


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("workers", [1, 100])
def test_idle_workers_send_at_most_two_requests_a_second_each(
    processes: Callable[..., Process], sync_store: SyncStore, redis_url: str, workers: int
) -> None:
    idle = measure_idle(processes, sync_store, redis_url, workers=workers, seconds=60.0, jobs=200, delayed=5)

    print(idle)
    assert sum(idle.requests.values()) <= 2 * workers * idle.seconds
    assert len(idle.waits_ms) == 200
