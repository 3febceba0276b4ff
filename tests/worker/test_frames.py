"""Frames between a worker and its child processes."""

import msgspec
import pytest

from leaseforge.isolation import Isolation
from leaseforge.requests import new_job
from leaseforge_worker.frames import (
    MAX_FRAME_BYTES,
    BadFrame,
    Frames,
    FromChild,
    Raised,
    Ready,
    Returned,
    Run,
    Spoken,
    decode_from_child,
    decode_to_child,
    framed,
)
from leaseforge_worker.outcomes import Failure
from tests.worker.builders import claimed

SAID: list[FromChild] = [
    Ready(),
    Spoken(("one", "zwei ü"), (50, "half")),
    Raised(Failure("E", "message", "trace", "permanent"), worn=True),
    Returned(b"\x00\xff", (new_job("t", {"a": 1}, tags=["x"], timeout_ms=5),), worn=False),
]


@pytest.mark.parametrize("size", [1, 3, 7, 100_000])
def test_frames_come_out_as_they_went_in_however_they_are_cut(size: int) -> None:
    stream = b"".join(map(framed, SAID))
    frames = Frames()

    bodies = [body for at in range(0, len(stream), size) for body in frames.feed(stream[at : at + size])]

    assert [decode_from_child(body) for body in bodies] == SAID


def test_a_job_of_the_largest_size_passes() -> None:
    run = Run(claimed(payload=b"\xff" * 1024 * 1024), Isolation(memory_mb=1), 12.5)

    [body] = Frames().feed(framed(run))

    assert decode_to_child(body) == run


def test_half_a_frame_is_none() -> None:
    assert list(Frames().feed(framed(SAID[1])[:-1])) == []


def test_a_length_that_no_frame_has_is_refused_before_anything_is_kept() -> None:
    with pytest.raises(BadFrame):
        list(Frames().feed((MAX_FRAME_BYTES + 1).to_bytes(4, "big") + b"x"))


@pytest.mark.parametrize("body", [b"", b"\x00", b"\x81\xa4type\xa7Unknown", b"\xff" * 9])
def test_a_body_that_no_child_sends_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_from_child(body)
