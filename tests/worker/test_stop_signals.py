"""A second signal, and what only looks like one."""

from signal import SIGINT, SIGTERM

import pytest

from leaseforge_worker.stop_signals import StopSignals
from tests.worker.builders import Clock


@pytest.mark.parametrize(
    ("second", "after_s", "haste"),
    [(SIGTERM, 0.0, False), (SIGTERM, 0.5, False), (SIGTERM, 0.6, True), (SIGINT, 0.0, True), (SIGINT, 5.0, True)],
)
def test_the_same_signal_again_at_once_is_an_echo(second: int, after_s: float, haste: bool) -> None:
    clock = Clock()
    signals = StopSignals(clock)
    assert not signals.ask_for_haste(SIGTERM)

    clock.now += after_s

    assert signals.ask_for_haste(second) is haste
