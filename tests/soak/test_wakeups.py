"""No wake-up is lost: a job that comes while a worker goes idle waits for no sweep."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from leaseforge.store import SyncStore
from tests.soak.wakeups import SHAPES, provoke
from tests.support import Process


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("tries", [1_000, pytest.param(50_000, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])])
def test_every_job_starts_without_a_sweep_however_its_coming_meets_a_worker_going_idle(
    processes: Callable[..., Process],
    sync_store: SyncStore,
    redis_url: str,
    tmp_path: Path,
    tries: int,
    shape: dict[str, int],
) -> None:
    seed = random.randrange(2**31)
    done = provoke(processes, sync_store, redis_url, tmp_path, tries=tries, chance=random.Random(seed), **shape)

    print(done)
    assert done.tries >= tries
    assert done.missed == 0, f"seed {seed}: {done}"
    assert done.waits > 0, "no job ever met a worker that waited: the moments are chosen wrongly"
