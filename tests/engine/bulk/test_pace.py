"""How fast a bulk operation may go, and when its failures are too many: plain arithmetic on a clock of our own."""

import pytest

from leaseforge.bulk_pace import ENOUGH, MOST_REST_S, SAVED_UP_S, Breath, FailureWatch, Pace


@pytest.mark.parametrize("rate", [1, 7, 50, 1000, 10_000])
@pytest.mark.parametrize("late_s", [0.0, 0.003, 0.5])
def test_over_any_stretch_of_time_the_rate_is_kept(rate: int, late_s: float) -> None:
    pace, now, taken = Pace(rate, 100.0), 100.0, []
    while now < 110.0:
        now += pace.wait_s(now) + late_s
        taken.append((now, pace.chunk))
        pace.took(pace.chunk, now)

    for first in range(0, len(taken), max(1, len(taken) // 50)):
        jobs = 0
        for at, count in taken[first:]:
            jobs += count
            assert jobs <= rate * (at - taken[first][0] + SAVED_UP_S) + 2 * pace.chunk
    if not late_s:
        assert sum(count for _, count in taken) >= rate * 10


def test_time_that_passed_unused_is_not_made_up_for() -> None:
    pace = Pace(100, 0.0)
    pace.took(5, 1000.0)

    assert pace.wait_s(1000.0) == 0  # a tenth of a second is
    for _ in range(3):
        pace.took(5, 1000.0)
    assert pace.wait_s(1000.0) == pytest.approx(0.1)


def test_a_few_outcomes_say_nothing() -> None:
    watch = FailureWatch(0.5)

    assert watch.saw(0, ENOUGH - 1) is None
    assert watch.saw(0, ENOUGH) == 1.0


def test_the_share_must_pass_the_limit() -> None:
    assert FailureWatch(0.5).saw(50, 50) is None
    assert FailureWatch(0.5).saw(49, 51) == pytest.approx(0.51)
    assert FailureWatch(0.0).saw(1000, 1) == pytest.approx(1 / 1001)
    assert FailureWatch(1.0).saw(0, 1000) is None
    assert FailureWatch(None).saw(0, 1000) is None


def test_what_has_lately_gone_wrong_outweighs_a_long_good_time() -> None:
    watch = FailureWatch(0.5)
    well, again = 0, 0
    for _ in range(100):
        well += 100
        assert watch.saw(well, again) is None

    seen = []
    for _ in range(5):
        again += 100
        seen.append(watch.saw(well, again))

    assert any(share is not None for share in seen)


def test_what_was_known_before_a_run_does_not_count_in_it() -> None:
    watch = FailureWatch(0.5, well=10, again=500)

    assert watch.saw(40, 505) is None


def test_the_longer_redis_takes_the_longer_it_is_left_alone_and_the_less_it_is_asked_for() -> None:
    breath = Breath(100)
    assert (breath.wait_s(5.0), breath.chunk) == (0, 100)

    breath.took(0.004, 5.0)
    assert breath.wait_s(5.0) == pytest.approx(0.008)
    assert breath.wait_s(5.1) == 0
    assert breath.chunk == 100

    chunks = []
    for _ in range(6):
        breath.took(0.2, 6.0)
        chunks.append(breath.chunk)
    assert chunks == [50, 25, 12, 10, 10, 10]
    assert breath.wait_s(6.0) == pytest.approx(MOST_REST_S)

    for _ in range(9):
        breath.took(0.001, 7.0)
    assert breath.chunk == 100
