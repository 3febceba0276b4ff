"""Only the clock of Redis counts: a client whose own clock is a day off sees the same times as everybody."""

import time

import pytest

from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue

DAY_S = 86_400


@pytest.fixture(params=[-DAY_S, DAY_S], autouse=True)
def _wrong_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + request.param)


def test_leases_end_by_redis_clock(line: LiveQueue) -> None:
    job_id = line.add()
    before_ms = line.now_ms()
    claimed = line.claim_one(lease_ms=10_000)

    line.renew(claimed, lease_ms=20_000)

    lease = line.job(job_id).lease
    assert lease is not None
    assert before_ms + 20_000 <= lease.expires_at.timestamp() * 1000 <= line.now_ms() + 20_000
    assert line.tick().recovered == 0
    assert claimed.fence // 1000 <= line.now_ms()


def test_delays_count_by_redis_clock(line: LiveQueue) -> None:
    before_ms = line.now_ms()
    job_id = line.add(delay_ms=60_000)

    due_at = line.job(job_id).due_at

    assert due_at is not None
    assert before_ms + 60_000 <= due_at.timestamp() * 1000 <= line.now_ms() + 60_000
    assert line.tick().promoted == 0
    assert line.state(job_id) is JobState.SCHEDULED
