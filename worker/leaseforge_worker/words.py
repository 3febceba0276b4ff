"""What a running attempt says, progress and log lines, kept until Redis has it."""

import threading
from collections import deque
from dataclasses import dataclass

from leaseforge.limits import MAX_LOG_LINES


@dataclass(frozen=True, slots=True)
class Said:
    """One message to Redis: lines numbered from `first` within the attempt, and the newest progress if it is new."""

    first: int
    lines: tuple[str, ...]
    progress: tuple[int, str] | None


class Words:
    """Buffers the words of one attempt: written from any thread, taken by the event loop.

    Holds at most 200 lines. When more are said before a message leaves, the oldest are dropped and a line in their
    place says how many. A message stays as it is until it was told, so that sending it again adds nothing twice.
    """

    __slots__ = ("_closed", "_dropped", "_lines", "_lock", "_next", "_progress", "_under_way")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._progress: tuple[int, str] | None = None
        self._next = 1
        self._under_way: Said | None = None

    @property
    def unsent(self) -> bool:
        """Whether there is something Redis has not confirmed."""
        return bool(self._under_way or self._lines or self._progress)

    def line(self, line: str) -> None:
        """The attempt logs a line."""
        with self._lock:
            if self._closed:
                return
            if len(self._lines) >= MAX_LOG_LINES:
                self._drop_oldest()
            self._lines.append(line)

    def progress(self, percent: int, note: str) -> None:
        """The attempt is this far now; what it said of that before no longer matters."""
        with self._lock:
            if not self._closed:
                self._progress = (percent, note)

    def close(self) -> None:
        """The attempt has ended: what a thread of it still says does not count, and must not hold up its settlement."""
        with self._lock:
            self._closed = True

    def message(self) -> Said | None:
        """What is to be sent now: the message that was not confirmed, else everything new, else None."""
        with self._lock:
            if self._under_way is None and self.unsent:
                self._under_way = self._composed()
            return self._under_way

    def told(self) -> None:
        """Redis has answered the message."""
        self._under_way = None

    def _composed(self) -> Said:
        if self._dropped:
            if len(self._lines) == MAX_LOG_LINES:
                self._drop_oldest()  # makes room for the line that tells of it
            self._lines.appendleft(f"({self._dropped:,} lines dropped here: they came too fast)")
        said = Said(self._next, tuple(self._lines), self._progress)
        self._next += len(said.lines)
        self._lines.clear()
        self._dropped = 0
        self._progress = None
        return said

    def _drop_oldest(self) -> None:
        self._lines.popleft()
        self._dropped += 1
