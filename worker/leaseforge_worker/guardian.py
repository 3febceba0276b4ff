"""Ends the child processes of a worker that died without ending them. A program of its own: standard library only.

It is told the process groups there are ("+7" and "-7", a line each) and kills them when the worker's end of the pipe
closes, which a dead process cannot put off. What the kernel does for a child whose parent dies reaches neither what the
child has started nor, before the child looks, a child that keeps its interpreter to itself.
"""

import contextlib
import os
import signal
import sys


def main() -> None:
    """Reads until the pipe ends, then kills what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        if line.startswith("+"):
            groups.add(int(line[1:]))
        else:
            groups.discard(int(line[1:]))
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
