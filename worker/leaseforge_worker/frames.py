"""What a worker and its child processes say to each other: msgpack with four bytes of length before it."""

import struct
from collections.abc import Iterator

import msgspec

from leaseforge.claimed import Claimed
from leaseforge.isolation import Isolation, Whereabouts
from leaseforge.jobs import NewJob
from leaseforge_worker.outcomes import Failure

MAX_FRAME_BYTES = 32 * 1024 * 1024
"""Far above any true frame: the largest carries the follow-ups of a job, with payloads of 4 MiB together."""

_HEAD = struct.Struct(">I")


class BadFrame(Exception):
    """Bytes that are no frame; nothing behind them can be trusted."""


class Begin(msgspec.Struct, tag=True):
    """To a child, first of all: the tasks it is to find.

    `log_level` and `log_format` as the worker has them, '' if it has another log. `records` says that the worker
    records traces.
    """

    tasks: tuple[Whereabouts, ...]
    log_level: str
    log_format: str
    records: bool = False


class Run(msgspec.Struct, tag=True):
    """To a child: run this job. `lease_until` is on the machine's monotonic clock.

    `trace` is the traceparent and tracestate that the handler's own spans belong under, '' where none are recorded.
    """

    job: Claimed
    isolation: Isolation
    lease_until: float
    trace: tuple[str, str] = ("", "")


class Renewed(msgspec.Struct, tag=True):
    """To a child: the lease of what it runs lasts until then."""

    lease_until: float


class StopRun(msgspec.Struct, tag=True):
    """To a child: what it runs is to end."""


class Ready(msgspec.Struct, tag=True):
    """From a child: it has found its tasks."""


class Unfit(msgspec.Struct, tag=True):
    """From a child: it cannot find its tasks, and why."""

    message: str


class Started(msgspec.Struct, tag=True):
    """From a child: the handler begins."""


class Spoken(msgspec.Struct, tag=True):
    """From a child: what the handler said since the last frame."""

    lines: tuple[str, ...]
    progress: tuple[int, str] | None


class Returned(msgspec.Struct, tag=True):
    """From a child: the handler is done. `worn`: the child is to be replaced."""

    result: bytes
    follow_ups: tuple[NewJob, ...]
    worn: bool


class Raised(msgspec.Struct, tag=True):
    """From a child: the attempt failed."""

    failure: Failure
    worn: bool


ToChild = Begin | Run | Renewed | StopRun
FromChild = Ready | Unfit | Started | Spoken | Returned | Raised

_encode = msgspec.msgpack.Encoder().encode
decode_to_child = msgspec.msgpack.Decoder(ToChild).decode
decode_from_child = msgspec.msgpack.Decoder(FromChild).decode


def framed(message: ToChild | FromChild) -> bytes:
    """A message as it travels."""
    body = _encode(message)
    return _HEAD.pack(len(body)) + body


class Frames:
    """Cuts a stream into frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that are whole with these bytes. Raises BadFrame."""
        self._bytes += data
        while len(self._bytes) >= _HEAD.size:
            (size,) = _HEAD.unpack_from(self._bytes)
            if size > MAX_FRAME_BYTES:
                raise BadFrame(f"a frame of {size:,} bytes")
            end = _HEAD.size + size
            if len(self._bytes) < end:
                return
            body = bytes(memoryview(self._bytes)[_HEAD.size : end])
            del self._bytes[:end]
            yield body
