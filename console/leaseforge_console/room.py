"""A seat among a bounded number: taken at the moment it is found free, given back whatever happens."""

import weakref
from collections.abc import Callable


class Seat:
    """Given back when it is left, or when it is forgotten before anybody entered it: a client may be gone by then."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back = weakref.finalize(self, give_back)
        self._give_back.atexit = False

    def __enter__(self) -> None:
        """Keeps the seat until it is left."""

    def __exit__(self, *_: object) -> None:
        self._give_back()
