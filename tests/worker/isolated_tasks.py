"""Tasks for child processes, at the top of a module as they must be. Each does one thing that a handler may do."""

import asyncio
import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from leaseforge import AttemptEnded, BadInput, Context, Middleware, PermanentFailure, TooManyFollowUps, task

runs = 0
"""How many handlers have run in this process."""


@task(isolate=True)
def echo(ctx: Context, payload: bytes) -> bytes:
    """Gives back what it got."""
    return payload


@task(isolate=True)
async def who(ctx: Context) -> dict[str, Any]:
    """Which process this is, and what its attempt says of itself."""
    global runs
    runs += 1
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "leads": os.getsid(0) == os.getpgid(0) == os.getpid(),
        "runs": runs,
        "job": ctx.job_id,
        "attempt": ctx.attempt,
        "fence": ctx.fence,
        "at_risk": ctx.lease_at_risk,
        "cancelled": ctx.cancelled,
        "fds": sorted(_fds()),
    }


class Order(msgspec.Struct):
    """A payload with a shape."""

    n: int


@task(isolate=True)
def takes_order(ctx: Context, payload: Order) -> int:
    """Reads its payload by its annotation."""
    return payload.n


@task(isolate=True)
def big(ctx: Context, payload: int) -> bytes:
    """A result of any size."""
    return b"x" * payload


@task(isolate=True)
def raises(ctx: Context, payload: str) -> None:
    """Fails in a way of its own."""
    kinds: dict[str, BaseException] = {
        "lookup": LookupError("no such customer"),
        "permanent": PermanentFailure("no such address"),
        "exit": SystemExit(3),
        "unpicklable": Unpicklable(lambda: None),
    }
    raise kinds[payload]


class Unpicklable(Exception):
    """An error that only its own process can hold."""


@task(isolate=True)
async def raises_async(ctx: Context) -> None:
    """Fails on the loop."""
    await asyncio.sleep(0)
    raise LookupError("no such customer")


@task(isolate=True)
def dies(ctx: Context, payload: str) -> None:
    """Takes its process down."""
    match payload:
        case "segfault":
            ctypes.string_at(0)
        case "exit":
            os._exit(1)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "half a reply":
            fd = next(number for number, what in _fds().items() if what.startswith("socket:"))
            os.write(fd, b"\x00\x00\x10\x00half")
            os._exit(0)
        case "closed":
            os.closerange(3, 64)
            time.sleep(60)


def _fds() -> dict[int, str]:
    """What this process has open."""
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the one that lists them
            found[int(entry.name)] = str(entry.readlink())
    return found


@task(isolate=True)
def shuts_its_mouth(ctx: Context) -> None:
    """Ends the connection to the worker and goes on."""
    fd = next(number for number, what in _fds().items() if what.startswith("socket:"))
    with socket.socket(fileno=os.dup(fd)) as channel:
        channel.shutdown(socket.SHUT_WR)
    time.sleep(600)


left_behind: list[bytearray] = []


@task(isolate=True, memory_mb=64)
def leaks(ctx: Context, payload: int) -> int:
    """Leaves so many MiB behind."""
    left_behind.append(bytearray(payload * 1024 * 1024))
    return os.getpid()


@task(isolate=True, memory_mb=64)
def eats_memory(ctx: Context, payload: int) -> int:
    """Wants so many MiB at once."""
    return len(bytearray(payload * 1024 * 1024)) and os.getpid()


@task(isolate=True, cpu_s=1)
def eats_cpu(ctx: Context, payload: float) -> int:
    """Computes for so many seconds of processor time."""
    end = time.process_time() + payload
    while time.process_time() < end:
        pass
    return os.getpid()


@task(isolate=True)
def holds_the_interpreter(ctx: Context, payload: str) -> bool:
    """A catastrophic regular expression: one call into C that lets no other thread of the process run."""
    Path(payload).write_text(str(os.getpid()))
    return bool(re.fullmatch(r"(a+)+b", "a" * 40))


@task(isolate=True)
def has_children(ctx: Context, payload: str) -> None:
    """Starts programs and forks, notes them all, and waits."""
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    forked = os.fork()
    if not forked:
        time.sleep(600)
        os._exit(0)
    _note(payload, f"{os.getpid()} {program.pid} {forked}")
    time.sleep(600)


@task(isolate=True)
def holds_on_with_children(ctx: Context, payload: str) -> None:
    """The same, and nothing else of its process can run any more."""
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    _note(payload, f"{os.getpid()} {program.pid}")
    re.fullmatch(r"(a+)+b", "a" * 40)


@task(isolate=True)
def comes_back_twice(ctx: Context) -> int:
    """A forked process that returns from the handler too."""
    if not os.fork():
        return -1
    os.wait()
    return 1


@task(isolate=True)
async def waits(ctx: Context, payload: str) -> str:
    """Waits until it is told to end, and says whether it knew."""
    _note(payload, str(os.getpid()))
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        _note(payload + ".stopped", str(ctx.cancelled))
        raise
    return "never"


@task(isolate=True)
def looks(ctx: Context, payload: str) -> str:
    """Looks now and then whether it is to end."""
    _note(payload, str(os.getpid()))
    while not ctx.cancelled:
        time.sleep(0.01)
    return "saw it"


@task(isolate=True)
def deaf(ctx: Context, payload: str) -> None:
    """Does not listen."""
    _note(payload, str(os.getpid()))
    time.sleep(600)


@task(isolate=True)
def sees_risk(ctx: Context, payload: str) -> bool:
    """Waits until its lease may be over."""
    _note(payload, str(os.getpid()))
    while not ctx.lease_at_risk:
        time.sleep(0.01)
    return True


@task(isolate=True)
def speaks(ctx: Context) -> list[str]:
    """Uses all of its context."""
    ctx.log("first")
    ctx.progress(40, "splitting")
    asked = [ctx.enqueue("echo", {"n": 1}), ctx.enqueue("echo", b"raw", queue="other", priority=3)]
    try:
        ctx.enqueue("echo", queue="no such queue")
    except BadInput as refused:
        ctx.log(f"refused: {len(refused.problems)}")
    for number in range(198):
        ctx.enqueue("echo", number)
    try:
        ctx.enqueue("echo", "one too many")
    except TooManyFollowUps:
        ctx.log("too many")
    ctx.progress(100)
    ctx.log("last")
    return asked


@task(isolate=True)
def speaks_and_dies(ctx: Context) -> None:
    """Its last words have left before it."""
    ctx.log("about to die")
    os._exit(7)


@task(isolate=True)
def prints(ctx: Context) -> None:
    """Writes to standard output, which a worker may need for itself."""
    print("printed by a handler", flush=True)
    os.write(1, b"written by a handler\n")


class Marks(Middleware):
    """Notes in the job's log where it runs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def before(self, ctx: Context) -> None:
        """Notes the process."""
        ctx.log(f"{self.name} {os.getpid()}")


outer, own = Marks("outer"), Marks("own")


@task(isolate=True, middleware=[own])
def marked(ctx: Context) -> int:
    """Has something around it."""
    return os.getpid()


def bare(ctx: Context, payload: str) -> str:
    """No task until a program makes it one."""
    return payload.upper()


keep: list[Context] = []


@task(isolate=True)
def keeps_its_context(ctx: Context) -> str:
    """Asks the attempt before for something."""
    keep.append(ctx)
    try:
        keep[0].enqueue("echo", 1)
    except AttemptEnded:
        return "ended"
    return "taken"


def _note(path: str, text: str) -> None:
    """Whole or not at all."""
    whole = Path(path + ".new")
    whole.write_text(text)
    whole.rename(path)
