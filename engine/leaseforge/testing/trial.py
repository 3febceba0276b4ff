"""One attempt at a job without Redis, by the worker's own rules."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, ParamSpec

from leaseforge.claimed import Claimed
from leaseforge.context import Context
from leaseforge.errors import LeaseforgeError
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import Backoff, JobError, JobState, NewJob, Progress
from leaseforge.middleware import Middleware
from leaseforge.policies import Policy
from leaseforge.registry import Registry
from leaseforge.requests import new_job
from leaseforge.tasks import AnyTask, Task
from leaseforge_worker.attempt import Attempts
from leaseforge_worker.held import Held, Stop
from leaseforge_worker.loops import OwnLoop
from leaseforge_worker.metrics import Meters

P = ParamSpec("P")

_LEASE_S = 3600.0
"""Longer than any test: only one that asks for it sees a lease at risk."""


class TrialFailed(LeaseforgeError):
    """The attempt did not complete, and no exception of the task's own says why."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How an attempt ended, and where that leads its job.

    `state` is completed, retrying, dead or cancelled; `reason` says why it is dead (attempts_exhausted, permanent,
    bad_payload), `retry_in_ms` how long it would wait for the next attempt. `result` is what the handler returned and
    `stored` the bytes kept of it. `error` is the kind and message kept of a failure, `exception` what was raised.
    `follow_ups` are the jobs that would exist now: none, unless it completed. `progress` is the newest.
    """

    state: JobState
    result: Any = None
    stored: bytes = b""
    error: JobError | None = None
    exception: BaseException | None = None
    traceback: str = ""
    reason: str | None = None
    retry_in_ms: int | None = None
    follow_ups: tuple[NewJob, ...] = ()
    progress: Progress | None = None
    log: tuple[str, ...] = ()

    def raise_if_failed(self) -> "Trial":
        """Itself if the attempt completed; else raises what its handler raised, or TrialFailed."""
        if self.state is JobState.COMPLETED:
            return self
        if self.exception is not None:
            raise self.exception
        why = f"{self.error.kind}: {self.error.message}" if self.error else "the job was cancelled"
        raise TrialFailed(why)


async def run_task_async(
    task: AnyTask,
    payload: Any = None,
    *,
    middleware: Iterable[Middleware] = (),
    queue: str = "default",
    priority: int = 0,
    id: str | None = None,
    tags: tuple[str, ...] | list[str] = (),
    traceparent: str | None = None,
    max_attempts: int | None = None,
    timeout_ms: int | None = None,
    backoff: Backoff | str | None = None,
    backoff_base_ms: int | None = None,
    backoff_cap_ms: int | None = None,
    attempt: int = 1,
    failures: int = 0,
    fence: int = 1,
    cancelled: bool = False,
    lease_at_risk: bool = False,
) -> Trial:
    """Runs one attempt at a job of the task, as a worker would: decoding, middleware, timeout, what it all leads to.

    The payload and the fields are those of `leaseforge.new_job`; bytes are a payload as it travels. `middleware` is
    the worker's, around the task's own. `attempt`, `failures` (before this one) and `fence` are what the claim would
    tell. With `cancelled` or `lease_at_risk` the context says so from the start. `async def` runs on this event loop,
    `def` in a thread, and isolated tasks are not isolated. Raises BadInput, TaskError.
    """
    job = new_job(
        task.name,
        payload,
        queue=queue,
        priority=priority,
        id=id,
        tags=tags,
        traceparent=traceparent,
        max_attempts=max_attempts,
        timeout_ms=timeout_ms,
        backoff=backoff,
        backoff_base_ms=backoff_base_ms,
        backoff_cap_ms=backoff_cap_ms,
    )
    lease_s = 0.0 if lease_at_risk else _LEASE_S
    held = Held(_claim(job, attempt, failures, fence), confirmed_at=time.monotonic(), lease_s=lease_s)
    if cancelled:
        held.stop = Stop.CANCELLED
    watch = _Watch()
    # Without its isolation, so that what a test patches is patched for the task too.
    here: AnyTask = Task(task.function, name=task.name, options=task.options, middleware=task.middleware)
    await _run(held, Registry([here], middleware=[watch, *middleware]))
    return _trial(held, watch)


def _asked_like(run: Callable[P, Awaitable[Trial]]) -> Callable[[Callable[..., Trial]], Callable[P, Trial]]:
    """Gives a function the signature of `run`, so that type checkers and editors know every field."""

    def decorate(function: Callable[..., Trial]) -> Callable[P, Trial]:
        return update_wrapper(function, run, assigned=())

    return decorate


@_asked_like(run_task_async)
def run_task(*args: Any, **fields: Any) -> Trial:
    """`run_task_async` on an event loop of its own. Raises RuntimeError where one runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        own = OwnLoop()
        try:
            return own.loop.run_until_complete(run_task_async(*args, **fields))
        finally:
            own.close()
    raise RuntimeError("an event loop runs here: await run_task_async(...) instead")


class _Watch(Middleware):
    """Sees from outside all hooks what comes out in the end."""

    def __init__(self) -> None:
        self.result: Any = None
        self.exception: BaseException | None = None

    def after(self, ctx: Context, result: Any) -> None:
        """Keeps what the handler returned."""
        self.result = result

    def error(self, ctx: Context, error: BaseException) -> None:
        """Keeps what was raised."""
        self.exception = error


async def _run(held: Held, registry: Registry) -> None:
    ended = asyncio.Event()
    attempts = Attempts(
        registry,
        Policy(),
        slots=1,
        ended=lambda _held: ended.set(),
        worn_out=lambda: None,
        meters=Meters(types=frozenset(registry.names())),
    )
    try:
        attempts.start(held)
        await ended.wait()
    finally:
        attempts.close()


def _claim(job: NewJob, attempt: int, failures: int, fence: int) -> Claimed:
    now_ms = int(time.time() * 1000)
    return Claimed(
        id=job.id,
        queue=job.queue,
        token=f"{fence}.trial",
        fence=fence,
        type=job.type,
        payload=job.payload,
        content_type=job.content_type,
        attempt=attempt,
        failures=failures,
        recoveries=0,
        replays=0,
        priority=job.priority,
        options=job.options,
        created_at_ms=now_ms,
        ready_at_ms=now_ms,
        tags=job.tags,
        traceparent=job.traceparent,
    )


def _trial(held: Held, watch: _Watch) -> Trial:
    settlement = held.settlement
    if settlement is None:
        raise AssertionError("an attempt that nobody else can claim always settles")
    said = held.words.message() if held.words is not None else None
    state, reason = _consequence(settlement, held.claimed.failures + 1)
    failed = settlement.outcome is Outcome.FAIL
    return Trial(
        state=state,
        result=watch.result if state is JobState.COMPLETED else None,
        stored=settlement.result,
        error=JobError(settlement.error_kind, settlement.error_message) if failed else None,
        exception=watch.exception,
        traceback=settlement.traceback,
        reason=reason,
        retry_in_ms=settlement.delay_ms if state is JobState.RETRYING else None,
        follow_ups=settlement.follow_ups,
        progress=Progress(*said.progress) if said is not None and said.progress is not None else None,
        log=said.lines if said is not None else (),
    )


def _consequence(settlement: Settlement, failures: int) -> tuple[JobState, str | None]:
    """What settle.lua would decide, which has the last word in earnest."""
    match settlement.outcome:
        case Outcome.COMPLETE:
            return JobState.COMPLETED, None
        case Outcome.CANCELLED:
            return JobState.CANCELLED, None
    if settlement.permanent:
        return JobState.DEAD, settlement.permanent
    if 0 < settlement.max_attempts <= failures:
        return JobState.DEAD, "attempts_exhausted"
    return JobState.RETRYING, None
