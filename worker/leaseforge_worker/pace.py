"""How far ahead a worker may claim, judged by how long its handlers take."""

HORIZON_S = 0.05
"""Jobs claimed ahead should start within about this time; a job that would wait longer is left to other workers."""
_WEIGHT = 1 / 16
_MARGIN = 2.0


class Pace:
    """A running estimate of handler time: the mean and, so that a mixed load counts as slow, its spread."""

    __slots__ = ("_mean", "_seen", "_spread")

    def __init__(self) -> None:
        self._mean = 0.0
        self._spread = 0.0
        self._seen = False

    def observe(self, seconds: float) -> None:
        """Takes one handler's time into account."""
        if not self._seen:
            self._seen = True
            self._mean = seconds
            self._spread = seconds / 2
            return
        off = seconds - self._mean
        self._mean += off * _WEIGHT
        self._spread += (abs(off) - self._spread) * _WEIGHT

    def stalled(self, seconds: float) -> None:
        """Jobs claimed ahead waited `seconds` in vain: claim nothing ahead until handlers prove fast again."""
        self.observe(max(seconds, HORIZON_S) * 16)

    @property
    def typical_s(self) -> float:
        """The handler time to reckon with, above the mean by a margin of its spread."""
        return self._mean + _MARGIN * self._spread

    def depth(self, slots: int) -> int:
        """How many jobs beyond the free slots may be claimed; 0 until a handler has ended, and for slow handlers."""
        if not self._seen:
            return 0
        return int(slots * HORIZON_S / max(self.typical_s, 1e-6))
