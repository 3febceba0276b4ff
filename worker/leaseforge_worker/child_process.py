"""One child process, seen from its worker: started, spoken to, listened to, killed with all it started, and reaped."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Final, cast

import msgspec

from leaseforge_worker.frames import BadFrame, Begin, Frames, FromChild, ToChild, decode_from_child, framed
from leaseforge_worker.guard import Guard

_PROGRAM: Final = """\
import sys
sys.path[:] = sys.argv[3:]
from leaseforge_worker.child import main
fd, parent = int(sys.argv[1]), int(sys.argv[2])
del sys.argv[1:]
main(fd, parent)
"""
_LAST_WORDS_S = 0.5
"""How long the end of a child's socket and the end of its process may lie apart: what it said last still counts."""


class ChildProcess(asyncio.Protocol):
    """A fresh interpreter, started by exec: nothing of the worker's threads, locks and connections gets into it.

    It leads a session of its own, so that a terminal's Ctrl-C does not reach it and one signal reaches all it started.
    `said` is called on the event loop with each frame, `gone` once after the last one.
    """

    def __init__(
        self,
        begin: Begin,
        *,
        loop: asyncio.AbstractEventLoop,
        guard: Guard,
        said: Callable[[FromChild], None],
        gone: Callable[[], None],
    ) -> None:
        """Starts it; raises OSError if the system refuses. In the thread of the event loop: it dies with its thread."""
        self.returncode: int | None = None
        self.killed_for = ""
        """Why the worker killed it, '' if it did not."""
        self._loop = loop
        self._guard = guard
        self._said = said
        self._gone = gone
        self._frames = Frames()
        self._transport: asyncio.WriteTransport | None = None
        self._unsent = [framed(begin)]
        self._closed = False
        self._reaped = False
        self._told = False
        self._signals = threading.Lock()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 -- this very interpreter
                    [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), str(os.getpid()), *map(str, sys.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=2,  # a handler that prints must not mix with what the worker's own output is for
                    stderr=2,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
        self.pid: Final = self._process.pid
        try:
            guard.watch(self.pid)
        except OSError:
            self._kill_group()
            self._process.wait()
            ours.close()
            raise
        self._ours = ours
        self._connecting = loop.create_task(self._connect())
        self._reaper = threading.Thread(target=self._reap, name=f"child-{self.pid}", daemon=True)
        self._reaper.start()

    def send(self, message: ToChild) -> None:
        """Sends a frame, sooner or later; to a child that is gone it goes nowhere."""
        data = framed(message)
        if self._transport is None:
            self._unsent.append(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def kill(self, why: str) -> None:
        """Kills it and everything it started, at once. Any thread."""
        self.killed_for = self.killed_for or why
        with self._signals:
            if not self._reaped:
                self._kill_group()

    def wait(self, within_s: float) -> None:
        """Waits until a killed child is reaped, and lets go of its socket."""
        self._reaper.join(within_s)
        if self._transport is not None:
            self._transport.close()
        else:
            self._connecting.cancel()
            self._ours.close()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is in the event loop's hands."""
        self._transport = cast(asyncio.WriteTransport, transport)
        for data in self._unsent:
            self._transport.write(data)
        self._unsent.clear()

    def data_received(self, data: bytes) -> None:
        """Bytes from the child; after any that are no frame it is of no use."""
        try:
            for body in self._frames.feed(data):
                self._said(decode_from_child(body))
        except (BadFrame, msgspec.MsgspecError) as error:
            self.kill(f"it said what no child says: {error}")

    def eof_received(self) -> bool:
        """Nothing more will be heard of it: it is dead, or of no use. Our end stays open until that is clear."""
        self._fall_silent()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """The same, and nothing more can be said to it."""
        self._fall_silent()

    async def _connect(self) -> None:
        await self._loop.create_unix_connection(lambda: self, sock=self._ours)

    def _reap(self) -> None:
        # Dead but not reaped its id, and so that of its group, is nobody else's: what it started can be killed safely.
        with contextlib.suppress(ChildProcessError, AttributeError):  # not every system has waitid
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with self._signals:
            self._kill_group()
            self._guard.forget(self.pid)
            returncode = self._process.wait()
            self._reaped = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
            self._loop.call_soon_threadsafe(self._died, returncode)

    def _fall_silent(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self.returncode is None:
            self._loop.call_later(_LAST_WORDS_S, self._cut_off)  # most are dead already, and about to be reaped
        else:
            self._tell()

    def _cut_off(self) -> None:
        if self.returncode is None:
            self.kill("it closed its connection to the worker")

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _died(self, returncode: int) -> None:
        self.returncode = returncode
        if self._closed:
            self._tell()
        else:
            self._loop.call_later(_LAST_WORDS_S, self._tell)

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            if self._transport is not None:
                self._transport.close()
            self._gone()
