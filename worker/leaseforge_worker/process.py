"""One worker process under a parent, as the parent sees it."""

import asyncio
import contextlib
import json
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from leaseforge_worker.child_signals import signal_child

ANSWERS_WITHIN_S = 1.0
_LONGEST_LINE = 16 * 1024 * 1024
_LAST_WORDS_S = 1.0


class ProcessState(StrEnum):
    """How one of the processes stands."""

    STARTING = "starting"
    """It runs, and has not taken up work yet."""
    RUNNING = "running"
    QUIET = "quiet"
    """It claims nothing, because an operator said so."""
    STOPPING = "stopping"
    SILENT = "silent"
    """It runs, and does not answer its parent."""
    WAITING = "waiting"
    """It ended and is to be started again, or waits for its first start."""
    STOPPED = "stopped"
    """It left as asked, and is not started again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a process says of itself."""

    state: ProcessState
    redis_ok: bool
    accepts_work: bool
    metrics: str


@dataclass(frozen=True, slots=True)
class End:
    """How one life of a process ended. `status` as a shell tells it: 128 + number when a signal ended it.

    `pid` is None if it could not be started.
    """

    pid: int | None
    status: int
    began: bool
    lived_s: float

    @property
    def how(self) -> str:
        """In words, for the log."""
        if self.status <= 128:
            return f"ended with exit code {self.status}"
        try:
            return f"was ended by {signal.Signals(self.status - 128).name}"
        except ValueError:
            return f"ended with exit code {self.status}"


class WorkerProcess:
    """Starts one process, again and again if wanted, and talks with it over a socket pair.

    `command` gives the command line for a descriptor of the child's end (see ParentChannel); output goes where the
    parent's goes. `began` is called each time the process takes up work.
    """

    def __init__(self, number: int, command: Callable[[int], Sequence[str]], *, began: Callable[[], None]) -> None:
        self.number = number
        self.resting = ProcessState.WAITING
        """Its state while there is no process."""
        self.starts = 0
        self.has_begun = False
        """Whether the process that runs now has taken up work."""
        self._command = command
        self._began = began
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._questions: dict[int, asyncio.Future[dict[str, Any] | None]] = {}
        self._asked = 0
        self._sent: signal.Signals | None = None

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def run_once(self) -> End:
        """Starts it and waits for its end. Raises OSError if the system starts no more processes."""
        self.has_begun = False
        started = time.monotonic()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command(theirs.fileno()), pass_fds=(theirs.fileno(),)
                )
            except BaseException:
                ours.close()
                raise
        self.starts += 1
        if self._sent is not None:  # while it was being started
            self._signal(self._sent)
        reader, writer = await asyncio.open_connection(sock=ours, limit=_LONGEST_LINE)
        self._writer = writer
        listening = asyncio.create_task(self._listen(reader))
        try:
            code = await self._process.wait()
            # It may have said that it began right before it died; something it started may hold the line open.
            await asyncio.wait((listening,), timeout=_LAST_WORDS_S)
        finally:
            listening.cancel()
            self._writer = None
            writer.close()
        return End(self._process.pid, code if code >= 0 else 128 - code, self.has_begun, time.monotonic() - started)

    async def ask(self, *, metrics: bool) -> Answer | None:
        """What it says of itself, or None if it does not run or does not answer in time."""
        writer = self._writer
        if writer is None or writer.transport.get_write_buffer_size():  # deaf to what it was asked before
            return None
        self._asked += 1
        number = self._asked
        answer = self._questions[number] = asyncio.get_running_loop().create_future()
        writer.write(json.dumps({"number": number, "metrics": metrics}).encode() + b"\n")
        try:
            said = await asyncio.wait_for(answer, ANSWERS_WITHIN_S)
        except TimeoutError:
            return None
        finally:
            del self._questions[number]
        if said is None:
            return None
        return Answer(ProcessState(said["state"]), said["redis_ok"], said["accepts_work"], said.get("metrics", ""))

    def state(self, answer: Answer | None) -> ProcessState:
        """How it stands, given what it answered just now."""
        if self.pid is None:
            return self.resting
        if answer is None:
            return ProcessState.SILENT
        return answer.state if self.has_begun else ProcessState.STARTING

    def drain(self) -> None:
        """Asks it to finish what it runs and leave, also if it is only being started; asking again changes nothing."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        self._sent = number
        if self._process is not None:
            signal_child(self._process, number)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """Takes in what it says; once it hung up it is asked nothing any more."""
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                message = json.loads(line)
                if "began" in message:
                    self.has_begun = True
                    self._began()
                elif (question := self._questions.get(message["number"])) is not None and not question.done():
                    question.set_result(message)
        self._writer = None
        for question in self._questions.values():
            if not question.done():
                question.set_result(None)
