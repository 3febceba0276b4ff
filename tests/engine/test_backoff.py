"""Pauses before a retry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseforge.backoff import ceiling_ms, delay_ms
from leaseforge.jobs import Backoff


@pytest.mark.parametrize(("failures", "ceiling"), [(1, 1_000), (2, 2_000), (3, 4_000), (7, 60_000), (500, 60_000)])
def test_exponential_pauses_double_up_to_the_cap(failures: int, ceiling: int) -> None:
    assert ceiling_ms(Backoff.EXPONENTIAL, base_ms=1_000, cap_ms=60_000, failures=failures) == ceiling


def test_fixed_pauses_are_exact_and_never_above_the_cap() -> None:
    assert [delay_ms(Backoff.FIXED, base_ms=700, cap_ms=60_000, failures=n) for n in (1, 2, 9)] == [700, 700, 700]
    assert delay_ms(Backoff.FIXED, base_ms=700, cap_ms=500, failures=1) == 500


def test_full_jitter_reaches_from_one_ms_to_the_ceiling() -> None:
    def pause(draw: float) -> int:
        return delay_ms(Backoff.EXPONENTIAL, base_ms=1_000, cap_ms=60_000, failures=2, draw=lambda: draw)

    assert pause(0.0) == 1
    assert pause(0.5) == 1_001
    assert pause(0.999_999) == 2_000


@given(
    kind=st.sampled_from(Backoff),
    base_ms=st.integers(0, 2_592_000_000),
    cap_ms=st.integers(0, 2_592_000_000),
    failures=st.integers(1, 10_000),
    draw=st.floats(0, 1, exclude_max=True),
)
def test_a_pause_is_never_negative_nor_above_the_cap(
    kind: Backoff, base_ms: int, cap_ms: int, failures: int, draw: float
) -> None:
    pause = delay_ms(kind, base_ms=base_ms, cap_ms=cap_ms, failures=failures, draw=lambda: draw)

    assert 0 <= pause <= cap_ms
    assert pause <= ceiling_ms(kind, base_ms=base_ms, cap_ms=cap_ms, failures=failures)


def test_a_first_failure_waits_at_most_the_base_even_below_a_second() -> None:
    pauses = {delay_ms(Backoff.EXPONENTIAL, base_ms=5, cap_ms=60_000, failures=1) for _ in range(200)}

    assert pauses <= set(range(1, 6))
    assert len(pauses) > 1
