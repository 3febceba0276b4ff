"""Runs a `leaseforge` command and samples where its CPU time goes: `python -m bench.sampler FILE worker ...`.

SIGUSR1 begins, SIGUSR2 ends and writes the file. A timer of consumed CPU time interrupts the program, which costs it
next to nothing and leaves the proportions as they are; a tracing profiler would charge each call of a function, and
so tell more of small functions than they take. C code counts for the line that called it. All of it is the main
thread: what the few other threads take (renewal) falls on whatever runs there.
"""

import collections
import json
import signal
import sys
from pathlib import Path
from types import FrameType

from leaseforge_cli.main import main

EVERY_S = 0.001
_DEPTH = 60

Place = tuple[str, str]
"""A file and the function in it."""


class Sampler:
    """Counts stacks, innermost place first."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stacks: collections.Counter[tuple[Place, ...]] = collections.Counter()

    def begin(self, _number: int, _frame: FrameType | None) -> None:
        """Starts the timer."""
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)

    def end(self, _number: int, _frame: FrameType | None) -> None:
        """Stops it, and writes the stacks with their counts; the file appears whole."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(list(self._stacks.items())), encoding="utf-8")
        part.rename(self._file)

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        stack: list[Place] = []
        while frame is not None and len(stack) < _DEPTH:
            stack.append((frame.f_code.co_filename, frame.f_code.co_qualname))
            frame = frame.f_back
        self._stacks[tuple(stack)] += 1


if __name__ == "__main__":
    sampler = Sampler(Path(sys.argv[1]))
    signal.signal(signal.SIGUSR1, sampler.begin)
    signal.signal(signal.SIGUSR2, sampler.end)
    main(sys.argv[2:])
