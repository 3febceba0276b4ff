"""The guardian of a worker's child processes: see leaseforge_worker.guardian."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

_GUARDIAN = Path(__file__).with_name("guardian.py")
_END_S = 1.0


class Guard:
    """Tells a guardian process which process groups are to go if this process dies. Any thread."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def watch(self, group: int) -> None:
        """This group goes with the worker. Raises OSError if there can be no guardian."""
        with self._lock:
            self._groups.add(group)
            self._write(f"+{group}\n")

    def forget(self, group: int) -> None:
        """This group is gone."""
        with self._lock:
            self._groups.discard(group)
            if self._process is not None:
                self._write(f"-{group}\n")

    def close(self) -> None:
        """The guardian ends; what it still guards goes with it."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.communicate(timeout=_END_S)

    def _write(self, line: str) -> None:
        """A guardian that somebody killed is replaced, and told of everything again."""
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.write(line.encode())
            except BrokenPipeError:
                self._process.wait()
                self._process.stdin.close()
                self._process = None
            else:
                return
        process = self._process = subprocess.Popen(  # noqa: S603 -- this very interpreter
            [sys.executable, "-I", "-S", _GUARDIAN],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if process.stdin is not None:
            process.stdin.write("".join(f"+{group}\n" for group in self._groups).encode())
