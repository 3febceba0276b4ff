"""Keeping leases: what is renewed, what the answers lead to, and what a network error does not."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from leaseforge.answers import Answer
from leaseforge.errors import StoreUnavailable
from leaseforge.pulse import Pulse
from leaseforge_worker.held import Held, HeldJobs
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.renewal import Renewal
from tests.support.waiting import eventually_sync
from tests.worker.builders import Clock, ScriptedSyncStore, claimed, held

LEASE_MS = 10_000


class Watch:
    """A renewal over a scripted store, and what it told."""

    def __init__(self, *answers: Any, clock: Callable[[], float] | None = None, lease_ms: int = LEASE_MS) -> None:
        self.clock = clock or Clock()
        self.store = ScriptedSyncStore(*answers)
        self.held = HeldJobs()
        self.meters = Meters()
        self.link = Link(self.clock)
        self.pulse = Pulse(self.clock)
        self.lost: list[Held] = []
        self.cancelled: list[Held] = []
        self.passes = 0
        self.reports = 0
        self.renewal = Renewal(
            store=self.store,
            held=self.held,
            lease_ms=lease_ms,
            lost=self.lost.append,
            cancelled=self.cancelled.append,
            renewed=self._passed,
            each_pass=self._reported,
            link=self.link,
            meters=self.meters,
            pulse=self.pulse,
            clock=self.clock,
        )

    def _passed(self) -> None:
        self.passes += 1

    def _reported(self) -> None:
        self.reports += 1

    def hold(self, count: int = 1, *, queue: str = "default", age_s: float = 0.0) -> list[Held]:
        jobs = [held(self.clock, claimed(queue=queue), age_s=age_s) for _ in range(count)]
        for one in jobs:
            self.held.add(one)
        return jobs


def all_ok(call: Any) -> tuple[Answer, ...]:
    return (Answer.OK,) * (len(call.rest) // 2)


def test_held_jobs_are_renewed_by_id_and_token_one_call_a_queue() -> None:
    watch = Watch(all_ok, all_ok)
    a, b = watch.hold(2, queue="a")
    [c] = watch.hold(queue="b")

    watch.renewal.run_once()

    assert [list(call.rest) for call in watch.store.calls] == [[*a.key, *b.key], [*c.key]]
    assert dict(watch.store.calls[0].args) == {"lease_ms": LEASE_MS}
    assert watch.passes == 1


def test_more_than_a_call_can_carry_goes_in_chunks() -> None:
    watch = Watch(*[all_ok] * 3)
    watch.hold(450)

    watch.renewal.run_once()

    assert [len(call.rest) // 2 for call in watch.store.calls] == [200, 200, 50]


def test_nothing_held_costs_no_call() -> None:
    watch = Watch()
    [job] = watch.hold()
    watch.held.discard(job)

    watch.renewal.run_once()

    assert watch.store.calls == []


def test_each_answer_leads_where_it_should() -> None:
    watch = Watch((Answer.OK, Answer.CANCELLED, Answer.FENCED, Answer.ALREADY_DONE))
    ok, cancelled, fenced, done = watch.hold(4, age_s=3.0)

    watch.renewal.run_once()

    now = watch.clock()
    assert (ok.confirmed_at, cancelled.confirmed_at) == (now, now)
    assert (fenced.confirmed_at, done.confirmed_at) == (now - 3, now - 3)
    assert (watch.cancelled, watch.lost) == ([cancelled], [fenced])


def test_a_queue_that_cannot_be_renewed_comes_last_and_costs_the_others_nothing() -> None:
    watch = Watch(StoreUnavailable("shard away"), all_ok, all_ok, StoreUnavailable("shard away"))
    watch.hold(queue="a")
    [b] = watch.hold(queue="b", age_s=3.0)

    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            watch.renewal.run_once()

    assert [call.keys[0][1] for call in watch.store.calls] == [f"lf:{{{name}}}:guard" for name in "abba"]
    assert b.confirmed_at == watch.clock()
    assert watch.passes == 2


def test_a_late_renewal_is_warned_of_with_the_jobs_and_its_gap_kept() -> None:
    watch = Watch(all_ok, all_ok)
    jobs = watch.hold(12, age_s=7.0)

    with capture_logs() as logs:
        watch.renewal.run_once()
        watch.renewal.run_once()

    [warning] = [line for line in logs if line["event"] == "renewal_late"]
    assert (warning["jobs"], warning["gap_s"]) == (12, 7.0)
    assert warning["job_ids"] == [one.claimed.id for one in jobs[:10]]
    assert watch.meters.longest_gap_s == 7.0


def test_network_errors_are_tried_again_until_the_leases_are_renewed() -> None:
    """Whatever the local clock says: only Redis can say that a lease is gone."""
    structlog.reset_defaults()
    import time

    watch = Watch(*[StoreUnavailable("away")] * 5, *[all_ok] * 1000, clock=time.monotonic, lease_ms=600)
    [job] = watch.hold(age_s=60.0)
    assert job.lease_at_risk

    watch.renewal.start()
    eventually_sync(lambda: watch.reports >= 2)
    watch.renewal.stop(within_s=5)

    assert len(watch.store.calls) >= 6
    assert (watch.lost, watch.link.degraded) == ([], False)
    assert not job.needs_renewal_first


def test_a_crash_in_the_thread_is_survived_and_counted() -> None:
    import time

    watch = Watch(ZeroDivisionError("defect"), *[all_ok] * 1000, clock=time.monotonic, lease_ms=600)
    watch.hold()

    watch.renewal.start()
    eventually_sync(lambda: watch.passes >= 1)
    watch.renewal.stop(within_s=5)

    assert watch.pulse.crashes == {"renewal": 1}
    assert "renewal" in watch.pulse.ages_s()


def test_a_refresh_renews_ahead_of_time() -> None:
    import time

    watch = Watch(*[all_ok] * 1000, clock=time.monotonic, lease_ms=3_600_000)
    watch.hold()
    watch.renewal.start()
    eventually_sync(lambda: watch.passes == 1)

    watch.renewal.refresh()
    eventually_sync(lambda: watch.passes == 2)
    watch.renewal.stop(within_s=5)

    assert threading.active_count() >= 1
