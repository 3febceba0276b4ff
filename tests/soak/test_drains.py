"""A worker that is told to go under load leaves every job as it should be, and goes."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from leaseforge.store import SyncStore
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced
from tests.faults.workers import Crew
from tests.soak.drains import drain_again_and_again
from tests.support import Process


@pytest.mark.parametrize("times", [3, pytest.param(50, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])])
def test_a_drain_at_any_moment_under_load_charges_and_loses_nothing(
    processes: Callable[..., Process], sync_store: SyncStore, redis_url: str, tmp_path: Path, times: int
) -> None:
    seed = random.randrange(2**31)
    ledger, produced = Ledger(tmp_path), Produced()
    crew = Crew(processes, redis_url, ledger)

    drains = drain_again_and_again(crew, sync_store, ledger, produced, times=times, chance=random.Random(seed))

    print(drains)
    assert drains.charged == [], f"seed {seed}"
    assert drains.statuses == {0}
    assert drains.jobs == len(produced.acknowledged) > 0
