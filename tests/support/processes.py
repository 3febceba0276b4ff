"""Child processes of a test: output in a file, ended by their pid."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.support.waiting import eventually_sync


class Process:
    """A child in a session of its own. `env` is added to the test's environment; None as a value removes a name."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        output_file: Path,
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
    ) -> None:
        environment = os.environ | {"PYTHONUNBUFFERED": "1"}
        for name, value in (env or {}).items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        self.output_file = output_file
        with output_file.open("ab") as output:
            self._child = subprocess.Popen(
                [str(part) for part in argv],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=environment,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; minus the signal's number when a signal ended it."""
        return self._child.poll()

    def output(self) -> str:
        """Everything it printed so far, stdout and stderr together."""
        return self.output_file.read_text(encoding="utf-8", errors="replace")

    def wait_for_output(self, text: str, *, within_s: float = 30.0) -> str:
        """Wait until it has printed the text; a child that ends before fails at once with what it said."""

        def printed() -> bool:
            ended = self.returncode is not None  # looked at first: its last words count
            if text in self.output():
                return True
            if ended:
                self.check_running()
            return False

        try:
            eventually_sync(printed, within_s=within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{text!r} not in:\n{self.output()}") from None
        return self.output()

    def check_running(self) -> None:
        """Raise ChildEnded, with everything it said, when it is no longer running."""
        if self.returncode is not None:
            raise ChildEnded(f"ended with {self.returncode}:\n{self.output()}")

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; a child that is gone is left in peace."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, *, within_s: float = 30.0) -> int:
        """Wait for its end and return its exit code."""
        try:
            return self._child.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {within_s:g} s:\n{self.output()}") from None

    def end(self, *, within_s: float = 20.0) -> None:
        """SIGTERM, and SIGKILL when that does not help in time."""
        self.signal(signal.SIGTERM)
        try:
            self._child.wait(within_s)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self._child.wait(within_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class ChildEnded(Exception):
    """The child process ended while a test was still waiting for something from it."""
