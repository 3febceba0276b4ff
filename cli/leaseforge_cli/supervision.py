"""Keeps a child process of `leaseforge dev` alive, and stops it when asked."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from leaseforge_cli.exits import NOT_WORTH_A_RESTART, CommandFailed, ExitCode
from leaseforge_worker.child_signals import signal_child

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0
# A child that lived this long before it died starts again with the first pause.
GOOD_LIFE_S = 30.0


class Child:
    """One `leaseforge` command as a child process, started again whenever it ends by itself.

    It runs in a session of its own, so that a Ctrl-C in the terminal reaches the parent only and the parent decides
    the order in which children stop. Its output goes where the parent's goes.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], say: Callable[[str], None]
    ) -> None:
        self.name = name
        self.arguments = list(arguments)
        self.environment = dict(environment)
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def keep(self) -> None:
        """Start it and start it again after each end, until `stop`.

        Raises CommandFailed when it ended for a reason that another start cannot change.
        """
        pause_s = FIRST_PAUSE_S
        while not self._stopping:
            started = time.monotonic()
            code = await self._run_once()
            if self._stopping:
                return
            if code in NOT_WORTH_A_RESTART:
                # The child has printed what is wrong; this line only says who.
                raise CommandFailed(f"the {self.name} cannot run like this, see above", ExitCode(code))
            if time.monotonic() - started > GOOD_LIFE_S:
                pause_s = FIRST_PAUSE_S
            self._say(f"{self.name} {_how_it_ended(code)}; starting it again in {pause_s:g} s")
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def stop(self, *, within_s: float) -> None:
        """SIGTERM, and SIGKILL when it still runs after that time; returns when it is gone."""
        self._stopping = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        signal_child(process, signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), within_s)
        except TimeoutError:
            self._say(f"{self.name} did not stop within {within_s:g} s: killing it")
            self.kill()
            await process.wait()

    def kill(self) -> None:
        """End it at once, without cleaning up."""
        self._stopping = True
        if self._process is not None:
            signal_child(self._process, signal.SIGKILL)

    async def _run_once(self) -> int:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "leaseforge_cli.child",
            *self.arguments,
            stdin=subprocess.PIPE,  # nothing is ever written: its end tells the child that we are gone
            env=self.environment,
            start_new_session=True,
        )
        if self._stopping:  # asked to stop while it was being started
            signal_child(self._process, signal.SIGTERM)
        return await self._process.wait()


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
