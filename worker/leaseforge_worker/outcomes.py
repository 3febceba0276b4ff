"""What the end of an attempt means for the job: results and errors turned into settlements."""

import traceback
from collections.abc import Awaitable
from typing import Any

import msgspec

from leaseforge import backoff
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.limits import MAX_RESULT_BYTES
from leaseforge.tasks import PermanentFailure, Policy
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


def completed(held: Held, result: Any, policy: Policy) -> Settlement:
    """A handler returned. Bytes are the result as they are, None is none, anything else becomes JSON.

    A result that is no JSON, or larger than 256 KiB, is a failure: silently dropping it would be worse.
    What the handler asked for as follow-ups goes with a completion only.
    """
    try:
        body = _body(result)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        return failed(held, policy, kind=BAD_RESULT, message=f"the result cannot be written as JSON: {error}")
    if len(body) > MAX_RESULT_BYTES:
        size = f"the result has {len(body):,} bytes; at most {MAX_RESULT_BYTES:,} are kept"
        return failed(held, policy, kind=RESULT_TOO_LARGE, message=size)
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


def raised(held: Held, error: BaseException, policy: Policy) -> Settlement:
    """A handler raised; PermanentFailure makes the job dead at once."""
    permanent = PERMANENT if isinstance(error, PermanentFailure) else ""
    return failed(
        held,
        policy,
        kind=type(error).__name__,
        message=_message(error),
        trace=_trace(error),
        permanent=permanent,
    )


def stopped(held: Held, policy: Policy, error: BaseException | None = None) -> Settlement | None:
    """An attempt was ended by the worker; None where nothing it says counts any more."""
    claimed = held.claimed
    match held.stop:
        case Stop.TIMEOUT:
            message = f"still running after {policy.timeout_ms} ms"
            trace = _trace(error) if error is not None else ""
            return failed(held, policy, kind=TIMEOUT, message=message, trace=trace, timed_out=True)
        case Stop.CANCELLED:
            return Settlement(claimed.id, claimed.token, Outcome.CANCELLED)
        case Stop.RELEASED:
            return released(held)
        case _:
            return None


def released(held: Held) -> Settlement:
    """The job goes back, uncharged, to the front of its queue."""
    return Settlement(held.claimed.id, held.claimed.token, Outcome.RELEASE)


def failed(
    held: Held,
    policy: Policy,
    *,
    kind: str,
    message: str,
    trace: str = "",
    permanent: str = "",
    timed_out: bool = False,
) -> Settlement:
    """A failure with the budget and the pause that hold for this job. The engine decides: retry or dead."""
    claimed = held.claimed
    delay_ms = backoff.delay_ms(
        policy.backoff,
        base_ms=policy.backoff_base_ms,
        cap_ms=policy.backoff_cap_ms,
        failures=claimed.failures + 1,
    )
    return Settlement(
        claimed.id,
        claimed.token,
        Outcome.FAIL,
        error_kind=kind,
        error_message=message,
        traceback=trace,
        max_attempts=policy.max_attempts,
        delay_ms=delay_ms,
        permanent=permanent,
        timed_out=timed_out,
        job_type=claimed.type,
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
