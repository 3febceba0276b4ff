"""Slots and the jobs claimed ahead."""

from collections.abc import AsyncIterator, Sequence

import pytest

from leaseforge_worker import pool as pool_module
from leaseforge_worker.held import Held, HeldJobs
from leaseforge_worker.pool import Pool
from tests.support.waiting import eventually
from tests.worker.builders import Clock, held


class Floor:
    """A pool and what it did."""

    def __init__(self, *, slots: int = 2, batch: int = 10) -> None:
        self.clock = Clock()
        self.held = HeldJobs()
        self.started: list[Held] = []
        self.refreshed = 0
        self.given_back: list[Held] = []
        self.pool = Pool(
            slots=slots,
            batch=batch,
            held=self.held,
            start=self._start,
            refresh=self._refresh,
            give_back=self._give_back,
            clock=self.clock,
        )

    def _start(self, one: Held) -> None:
        one.started_at = self.clock()
        self.started.append(one)

    def _refresh(self) -> None:
        self.refreshed += 1

    def _give_back(self, jobs: Sequence[Held]) -> None:
        self.given_back += jobs

    def claim(self, count: int, *, age_s: float = 0.0) -> list[Held]:
        jobs = [held(self.clock, age_s=age_s) for _ in range(count)]
        for one in jobs:
            self.held.add(one)
        self.pool.admit(jobs)
        return jobs

    def end(self, one: Held, *, after_s: float = 0.0001) -> None:
        one.started_at = self.clock() - after_s
        one.ended = True
        self.held.discard(one)
        self.pool.ended(one)

    def prove_fast(self) -> None:
        for _ in range(50):
            self.pool.pace.observe(0.00001)


@pytest.fixture
async def floor() -> AsyncIterator[Floor]:
    made = Floor()
    yield made
    made.pool.close()


async def test_only_as_many_jobs_run_as_there_are_slots_and_in_the_order_claimed(floor: Floor) -> None:
    jobs = floor.claim(4)

    assert floor.started == jobs[:2]

    floor.end(jobs[0])
    assert floor.started == jobs[:3]
    assert floor.pool.buffered == 1


async def test_at_first_only_free_slots_are_claimed_for(floor: Floor) -> None:
    assert floor.pool.room() == 2

    floor.claim(1)
    assert floor.pool.room() == 1
    assert floor.pool.has_free_slot()

    floor.pool.reserved = 1
    assert floor.pool.room() == 0
    assert not floor.pool.has_free_slot()


async def test_fast_handlers_are_claimed_ahead_of_within_the_batch(floor: Floor) -> None:
    floor.prove_fast()

    assert floor.pool.room() == 2 + 2 * 10


async def test_slow_settling_stops_claiming(floor: Floor) -> None:
    floor.prove_fast()
    for _ in range(4 * 10 + 2):
        floor.held.add(held(floor.clock))

    assert floor.pool.room() == 0


async def test_the_next_claim_is_due_when_half_of_the_jobs_ahead_have_started(floor: Floor) -> None:
    floor.prove_fast()
    jobs = floor.claim(22)

    assert not floor.pool.is_eager()

    for one in jobs[:9]:
        floor.end(one)
    assert not floor.pool.is_eager()
    floor.end(jobs[9])
    assert floor.pool.is_eager()


async def test_nothing_is_claimed_while_quiet(floor: Floor) -> None:
    floor.pool.accepting = False

    assert (floor.pool.room(), floor.pool.has_free_slot(), floor.pool.is_eager()) == (0, False, False)


async def test_a_job_claimed_more_than_half_a_lease_ago_is_renewed_before_it_starts(floor: Floor) -> None:
    old, fresh = floor.claim(1, age_s=5.1)[0], floor.claim(1, age_s=4.9)[0]

    assert floor.started == [fresh]
    assert floor.refreshed == 1

    floor.pool.renewed()
    assert floor.started == [fresh]

    old.confirmed_at = floor.clock()
    floor.pool.renewed()
    assert floor.started == [fresh, old]


async def test_jobs_that_waited_for_their_renewal_start_in_the_order_claimed(floor: Floor) -> None:
    jobs = floor.claim(4, age_s=9.0)

    for one in jobs:
        one.confirmed_at = floor.clock()
    floor.pool.renewed()

    assert floor.started == jobs[:2]
    floor.end(jobs[0])
    assert floor.started == jobs[:3]


async def test_jobs_that_wait_can_be_taken_out(floor: Floor) -> None:
    running, _, waiting = floor.claim(3)
    suspect = floor.claim(1, age_s=6.0)[0]
    floor.end(running)

    assert not floor.pool.remove(running)
    assert not floor.pool.remove(waiting)
    assert floor.pool.take_waiting() == [suspect]
    assert floor.pool.buffered == 0


async def test_jobs_stuck_behind_slow_ones_are_given_back(floor: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "STALLED_S", 0.01)
    floor.prove_fast()
    jobs = floor.claim(10)

    floor.clock.now += 0.02
    await eventually(lambda: floor.given_back)

    assert floor.given_back == jobs[2:]
    assert (floor.pool.buffered, floor.pool.room()) == (0, 0)


async def test_jobs_that_move_are_not_given_back(floor: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "STALLED_S", 0.01)
    jobs = floor.claim(3)

    floor.end(jobs[0])
    floor.clock.now += 0.02
    for one in jobs[1:]:
        floor.end(one)

    assert floor.given_back == []


async def test_attempts_that_end_at_once_do_not_nest(floor: Floor) -> None:
    def start(one: Held) -> None:
        floor.started.append(one)
        floor.pool.ended(one)

    floor.pool._start = start

    jobs = floor.claim(5000)

    assert floor.started == jobs
