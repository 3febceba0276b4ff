"""A worker keeps the leases of everything it holds, whatever its handlers do meanwhile."""

from collections.abc import Callable

import pytest

from leaseforge.store import SyncStore
from tests.soak.holding import Load, hold
from tests.support import Process

SHORT = Load(sleeps=100, blocks=60, computes=2, computes_apart=2, seconds=12.0)
LONG = Load(sleeps=500, blocks=488, computes=4, computes_apart=8, seconds=600.0)


@pytest.mark.parametrize(
    "load", [SHORT, pytest.param(LONG, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])], ids=["short", "long"]
)
def test_no_lease_is_lost_of_jobs_that_sleep_block_and_compute(
    processes: Callable[..., Process], sync_store: SyncStore, redis_url: str, load: Load
) -> None:
    held = hold(processes, sync_store, redis_url, load)

    print(held)
    assert held.most_running == load.total
    assert (held.recovered, held.fenced, held.again, held.unsuccessful) == (0, 0, 0, 0), str(held)
    assert held.renewal_gap_s > 0
