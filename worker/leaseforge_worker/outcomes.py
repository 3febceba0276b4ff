"""What the end of an attempt means for the job: results and errors turned into settlements."""

import traceback
from collections.abc import Awaitable
from typing import Any

import msgspec

from leaseforge import backoff
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.limits import MAX_MESSAGE_BYTES, MAX_RESULT_BYTES, MAX_TRACEBACK_BYTES
from leaseforge.policies import Policy
from leaseforge.tasks import BadPayload, PermanentFailure
from leaseforge.texts import cut
from leaseforge_worker.held import Held, Stop

UNKNOWN_TYPE = "unknown_type"
BAD_PAYLOAD = "bad_payload"
BAD_RESULT = "bad_result"
RESULT_TOO_LARGE = "result_too_large"
TIMEOUT = "timeout"
PERMANENT = "permanent"

_FRAMES = 30
"""Frames a stored traceback keeps, the innermost: its bytes are bounded, so is the work of writing them."""

_encode = msgspec.json.Encoder().encode


class Failure(msgspec.Struct, frozen=True):
    """Why an attempt failed, as text. `permanent` is a reason that makes its job dead at once, '' for none."""

    kind: str
    message: str
    trace: str = ""
    permanent: str = ""

    def cut(self) -> "Failure":
        """The same within the bounds of what is kept, and in text that can be written."""
        return Failure(
            kind=cut(self.kind, MAX_MESSAGE_BYTES),
            message=cut(self.message, MAX_MESSAGE_BYTES),
            trace=cut(self.trace, MAX_TRACEBACK_BYTES, keep_end=True),
            permanent=self.permanent,
        )


def body_of(result: Any) -> bytes | Failure:
    """What a handler returned, as it is kept: bytes as they are, None as none, anything else as JSON.

    A result that is no JSON, or larger than 256 KiB, is a failure: silently dropping it would be worse.
    """
    try:
        body = _body(result)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        return Failure(BAD_RESULT, f"the result cannot be written as JSON: {error}")
    if len(body) > MAX_RESULT_BYTES:
        return Failure(RESULT_TOO_LARGE, f"the result has {len(body):,} bytes; at most {MAX_RESULT_BYTES:,} are kept")
    return body


def failure_of(error: BaseException) -> Failure:
    """What a handler raised, without the frame that caught it; PermanentFailure makes the job dead at once."""
    permanent = PERMANENT if isinstance(error, PermanentFailure) else ""
    return Failure(type(error).__name__, _message(error), _trace(error), permanent)


def unreadable(error: BadPayload) -> Failure:
    """The payload is not what the task takes."""
    return Failure(BAD_PAYLOAD, str(error), permanent=BAD_PAYLOAD)


def completed(held: Held, result: Any, policy: Policy) -> Settlement:
    """A handler returned. What it asked for as follow-ups goes with a completion only."""
    body = body_of(result)
    if isinstance(body, Failure):
        return failed(held, policy, body)
    claimed = held.claimed
    if held.follow_ups is None:
        return Settlement(claimed.id, claimed.token, Outcome.COMPLETE, body)
    return Settlement(claimed.id, claimed.token, Outcome.COMPLETE, body, follow_ups=held.follow_ups.take())


def _body(result: Any) -> bytes:
    if result is None:
        return b""
    if isinstance(result, bytes | bytearray | memoryview):
        return bytes(result)
    if isinstance(result, Awaitable):
        _close(result)
        raise TypeError("the task returned something to await; make it an async def")
    return _encode(result)


def _close(awaitable: Awaitable[Any]) -> None:
    """A coroutine nobody runs would warn much later and elsewhere."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def stopped(held: Held, policy: Policy, trace: str = "") -> Settlement | None:
    """An attempt was ended by the worker; None where nothing it says counts any more."""
    claimed = held.claimed
    match held.stop:
        case Stop.TIMEOUT:
            failure = Failure(TIMEOUT, f"still running after {policy.timeout_ms} ms", trace)
            return failed(held, policy, failure, timed_out=True)
        case Stop.CANCELLED:
            return Settlement(claimed.id, claimed.token, Outcome.CANCELLED)
        case Stop.RELEASED:
            return released(held)
        case _:
            return None


def released(held: Held) -> Settlement:
    """The job goes back, uncharged, to the front of its queue."""
    return Settlement(held.claimed.id, held.claimed.token, Outcome.RELEASE)


def failed(held: Held, policy: Policy, failure: Failure, *, timed_out: bool = False) -> Settlement:
    """A failure with the budget and the pause that hold for this job. The engine decides: retry or dead."""
    claimed = held.claimed
    return Settlement(
        claimed.id,
        claimed.token,
        Outcome.FAIL,
        error_kind=failure.kind,
        error_message=failure.message,
        traceback=failure.trace,
        max_attempts=policy.max_attempts,
        delay_ms=_pause_ms(policy, claimed.failures + 1),
        permanent=failure.permanent,
        timed_out=timed_out,
        job_type=claimed.type,
    )


def crashed(held: Held, policy: Policy, failure: Failure) -> Settlement:
    """The process of the attempt died with it. The engine charges the budget of crashes: retry or poison."""
    claimed = held.claimed
    return Settlement(
        claimed.id,
        claimed.token,
        Outcome.CRASH,
        error_kind=failure.kind,
        error_message=failure.message,
        delay_ms=_pause_ms(policy, claimed.recoveries + 1),
        job_type=claimed.type,
    )


def _pause_ms(policy: Policy, failures: int) -> int:
    return backoff.delay_ms(
        policy.backoff, base_ms=policy.backoff_base_ms, cap_ms=policy.backoff_cap_ms, failures=failures
    )


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:
        return f"(its message cannot be read: {type(broken).__name__})"


def _trace(error: BaseException) -> str:
    """The traceback without this worker's own frame, innermost frames only."""
    try:
        tb = error.__traceback__.tb_next if error.__traceback__ is not None else None
        return "".join(traceback.TracebackException(type(error), error, tb, limit=-_FRAMES, compact=True).format())
    except Exception as broken:
        return f"(its traceback cannot be written: {type(broken).__name__})"
