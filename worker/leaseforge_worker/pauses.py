"""Pauses between tries while something is away."""

import random
from collections.abc import Callable


class Pauses:
    """Growing pauses in seconds, jittered downwards so that many workers do not come back together."""

    def __init__(self, *, first_s: float, longest_s: float, draw: Callable[[], float] = random.random) -> None:
        self._first_s = min(first_s, longest_s)
        self._longest_s = longest_s
        self._draw = draw
        self._next_s = self._first_s

    def next_s(self) -> float:
        """The pause before the next try: between half of it and all of it, and the one after may be twice as long."""
        pause = self._next_s * (0.5 + 0.5 * self._draw())
        self._next_s = min(self._next_s * 2, self._longest_s)
        return pause

    def reset(self) -> None:
        """It worked: the next pause is a short one again."""
        self._next_s = self._first_s
