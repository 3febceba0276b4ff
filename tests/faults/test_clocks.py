"""Workers whose wall clock is wrong or jumps: everything is as with a right one, because only Redis's clock counts.

libfaketime gives the whole process, C code included, another time of day; its monotonic clock stays true, as on a real
machine whose clock is set. (Faked along with it, waits of the C library would end at once or never.)
"""

import random
from pathlib import Path
from typing import Any

import pytest

from leaseforge.jobs import NewJob
from leaseforge.requests import new_job
from leaseforge.store import Store
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced, Producer
from tests.faults.workers import Crew
from tests.support.components import unavailable
from tests.support.waiting import eventually
from tests.worker.workers import all_ended

PLACES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1")


@pytest.fixture(scope="module")
def library() -> Path:
    found = [path for place in PLACES for path in Path("/").glob(place.lstrip("/"))]
    if not found:
        unavailable("libfaketime is not installed (Debian: apt-get install libfaketime)")
    return found[0]


class Clock:
    """The time of day of a worker, told as a distance from the right one."""

    def __init__(self, file: Path, library: Path) -> None:
        self._file = file
        self.env: dict[str, Any] = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }

    def set(self, seconds: int) -> None:
        other = self._file.with_suffix(".new")
        other.write_text(f"{seconds:+d}s\n")
        other.replace(self._file)  # in one step: a reader must not see half of it


def make(number: int, id: str) -> NewJob:
    """Work, retries, delays and leases that must be renewed."""
    match number % 10:
        case 0:
            return new_job("needs_number", 1, id=id, delay_ms=500)
        case 1:
            return new_job("breaks", id=id, max_attempts=2, backoff="fixed", backoff_base_ms=50)
        case 2:
            return new_job("work", {"ms": 1500}, id=id)
        case _:
            return new_job("work", {"ms": 10}, id=id)


@pytest.mark.parametrize("days", [-1, pytest.param(1, marks=pytest.mark.soak)])
async def test_a_worker_a_day_off_beside_a_right_one(
    crew: Crew,
    ledger: Ledger,
    produced: Produced,
    store: Store,
    redis_url: str,
    library: Path,
    tmp_path: Path,
    days: int,
) -> None:
    clock = Clock(tmp_path / "clock", library)
    clock.set(days * 86_400)
    wrong, _ = crew.worker(lease_s=1.0, **clock.env), crew.worker(lease_s=1.0)

    with Producer(redis_url, produced, count=200, make=make):
        await eventually(lambda: len(produced.acknowledged) == 200, within_s=60)

    assert await all_ended(store, 200) == {"completed": 180, "dead": 20}
    queue = audit(redis_url, ledger, produced, lease_ms=1000)["default"]
    assert {job.get("recoveries", "0") for job in queue.records.values()} == {"0"}
    assert wrong.pid in {line.pid for line in ledger.noted("end")}


async def test_a_worker_whose_clock_jumps(
    crew: Crew,
    ledger: Ledger,
    produced: Produced,
    store: Store,
    redis_url: str,
    library: Path,
    tmp_path: Path,
    chance: random.Random,
) -> None:
    clock = Clock(tmp_path / "clock", library)
    clock.set(0)
    crew.worker(lease_s=1.0, concurrency=16, **clock.env)

    with Producer(redis_url, produced, count=200, make=make, pause_s=0.01):
        for number in range(1, 21):
            await eventually(lambda number=number: len(produced.acknowledged) >= 10 * number, within_s=60)  # type: ignore[misc]
            clock.set(chance.randrange(-86_400, 86_400))

    assert await all_ended(store, 200) == {"completed": 180, "dead": 20}
    queue = audit(redis_url, ledger, produced, lease_ms=1000)["default"]
    assert {job.get("recoveries", "0") for job in queue.records.values()} == {"0"}
