"""How far ahead a worker claims."""

from leaseforge_worker.pace import HORIZON_S, Pace


def after(*seconds: float) -> Pace:
    pace = Pace()
    for one in seconds:
        pace.observe(one)
    return pace


def test_nothing_is_claimed_ahead_before_a_handler_has_ended() -> None:
    assert Pace().depth(16) == 0


def test_fast_handlers_are_claimed_ahead_of() -> None:
    assert after(*[0.0001] * 20).depth(4) > 100


def test_slow_handlers_are_never_claimed_ahead_of() -> None:
    assert after(*[HORIZON_S * 20] * 3).depth(4) == 0


def test_one_slow_job_among_fast_ones_stops_claiming_ahead_for_a_while() -> None:
    pace = after(*[0.0001] * 100, 10.0)

    assert pace.depth(4) == 0

    for _ in range(200):
        pace.observe(0.0001)
    assert pace.depth(4) > 0


def test_a_stall_stops_claiming_ahead() -> None:
    pace = after(*[0.0001] * 100)

    pace.stalled(0.5)

    assert pace.depth(16) == 0
