from datetime import UTC, datetime, timedelta, timezone

import pytest

from leaseforge_console import filters

NOW = datetime(2026, 11, 29, 3, 38, 18, 204_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 ms"),
        (0.110, "110 ms"),
        (0.9996, "1.0 s"),
        (1.23, "1.2 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (252, "4 min 12 s"),
        (3600, "1 h"),
        (7390, "2 h 3 min"),
        (86_399.9, "1 d"),
        (3 * 86_400 + 4 * 3600 + 59, "3 d 4 h"),
    ],
)
def test_a_length_of_time_has_at_most_two_units(seconds: float, text: str) -> None:
    assert filters.span(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1 << 20, "1.0 MiB"), (5 << 40, "5.0 TiB")]
)
def test_sizes_carry_their_unit(count: int, text: str) -> None:
    assert filters.size(count) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (12_481, "12,481"), (99_999, "99,999"), (123_456, "123 k"), (1_360_000, "1.36 M")]
)
def test_large_counts_are_shortened(count: int, text: str) -> None:
    assert filters.compact(count) == text


def test_times_are_relative_and_exact() -> None:
    assert filters.relative(NOW - timedelta(seconds=4), NOW) == "4 s ago"
    assert filters.relative(NOW + timedelta(seconds=252), NOW) == "in 4 min 12 s"
    assert filters.relative(NOW + timedelta(seconds=0.4), NOW) == "now"
    assert filters.exact(NOW) == "2026-11-29 03:38:18.204 UTC"
    assert filters.machine(NOW) == "2026-11-29T03:38:18.204Z"
    elsewhere = NOW.astimezone(timezone(timedelta(hours=9)))
    assert filters.clock(elsewhere) == "03:38:18.204"


def test_ids_are_shortened_and_short_ones_left_alone() -> None:
    assert filters.short("8f3b0c52-6d0e-4b7b-9d0c-2f6d1b7f3c11") == "8f3b0c52…"
    assert filters.short("mail") == "mail"


def test_words_agree_with_their_number() -> None:
    assert filters.plural(1, "queue") == "1 queue"
    assert filters.plural(2_000, "queue") == "2,000 queues"
    assert filters.plural(0, "more queue is", "more queues are") == "0 more queues are"


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (0.049, "0.05"), (3.24, "3.2"), (382.4, "382")])
def test_rates_show_what_means_something(value: float, text: str) -> None:
    assert filters.rate(value) == text
