"""Trying a task without Redis: what a trial tells is what a worker would have done."""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import pytest

from leaseforge import (
    AttemptEnded,
    BadInput,
    Client,
    Context,
    JobState,
    Middleware,
    PermanentFailure,
    TooManyFollowUps,
    new_job,
    task,
)
from leaseforge.tasks import AnyTask
from leaseforge.testing import Trial, TrialFailed, run_task, run_task_async
from leaseforge_worker import attempt
from leaseforge_worker.worker import Worker
from tests.support import eventually_sync


class Mail(msgspec.Struct):
    to: str
    copies: int = 1


@task(max_attempts=3, backoff="fixed", backoff_base_s=7)
async def send(ctx: Context, mail: Mail) -> dict[str, Any]:
    ctx.progress(40, "connecting")
    ctx.progress(99.9, "sent")
    ctx.log(f"sent to {mail.to}")
    ctx.enqueue("note_sent", {"to": mail.to}, priority=4)
    if mail.to == "nobody":
        raise LookupError("no such address")
    if mail.to == "never":
        raise PermanentFailure("will not get better")
    return {"copies": mail.copies, "attempt": ctx.attempt}


@task(max_attempts=2)
def blocking(ctx: Context, payload: Any) -> str:
    if payload == "fail":
        raise OSError("disk full")
    return threading.current_thread().name


@task(timeout_s=0.05)
async def endless(ctx: Context) -> None:
    await asyncio.Event().wait()


@task
def unwritable(ctx: Context) -> object:
    return object()


def test_a_completed_trial_tells_all_that_a_job_would_show() -> None:
    trial = run_task(send, {"to": "ada"}, queue="mail", attempt=2)

    assert trial.state is JobState.COMPLETED
    assert trial.result == {"copies": 1, "attempt": 2}
    assert trial.stored == b'{"copies":1,"attempt":2}'
    assert (trial.error, trial.exception, trial.reason, trial.retry_in_ms) == (None, None, None, None)
    assert trial.progress is not None
    assert (trial.progress.percent, trial.progress.note) == (99, "sent")
    assert trial.log == ("sent to ada",)
    [follow_up] = trial.follow_ups
    assert (follow_up.type, follow_up.queue, follow_up.priority) == ("note_sent", "mail", 4)
    assert trial.raise_if_failed() is trial


def test_a_failed_trial_tells_why_and_what_comes_next_and_drops_the_follow_ups() -> None:
    trial = run_task(send, {"to": "nobody"}, failures=1)

    assert (trial.state, trial.reason, trial.retry_in_ms) == (JobState.RETRYING, None, 7000)
    assert trial.error is not None
    assert (trial.error.kind, trial.error.message) == ("LookupError", "no such address")
    assert "in send" in trial.traceback
    assert (trial.result, trial.stored, trial.follow_ups) == (None, b"", ())
    assert trial.log == ("sent to nobody",)
    with pytest.raises(LookupError, match="no such address"):
        trial.raise_if_failed()


@pytest.mark.parametrize(
    ("payload", "fields", "reason"),
    [
        ({"to": "nobody"}, {"failures": 2}, "attempts_exhausted"),
        ({"to": "nobody"}, {"max_attempts": 1}, "attempts_exhausted"),
        ({"to": "never"}, {}, "permanent"),
        ({"two": "ada"}, {}, "bad_payload"),
        (b"{oops", {}, "bad_payload"),
    ],
)
def test_a_dead_trial_tells_its_reason(payload: Any, fields: dict[str, Any], reason: str) -> None:
    trial = run_task(send, payload, **fields)

    assert (trial.state, trial.reason, trial.retry_in_ms) == (JobState.DEAD, reason, None)


def test_a_payload_that_cannot_be_read_is_no_exception_of_the_tasks() -> None:
    with pytest.raises(TrialFailed, match=r"bad_payload: .*`to`"):
        run_task(send, {}).raise_if_failed()


def test_a_plain_function_runs_in_a_thread_with_context_variables_of_its_own() -> None:
    variable = contextvars.ContextVar("variable", default="clean")
    variable.set("dirty")

    @task
    def look(ctx: Context) -> str:
        return f"{variable.get()} in {threading.current_thread().name}"

    assert str(run_task(look).result).startswith("clean in handler-")


@pytest.mark.parametrize("kind", ["async def", "def"])
def test_a_timeout_fails_the_attempt(kind: str) -> None:
    release = threading.Event()

    @task(timeout_s=0.05)
    def stuck(ctx: Context) -> None:
        release.wait(20)

    trial = run_task(endless if kind == "async def" else stuck)
    release.set()

    assert (trial.state, trial.error and trial.error.kind) == (JobState.RETRYING, "timeout")


def test_a_coroutine_that_does_not_end_holds_up_no_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt, "GRACE_S", 0.05)

    @task(timeout_s=0.05)
    async def slow_to_end(ctx: Context) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.3)

    assert run_task(slow_to_end).state is JobState.RETRYING


def test_middleware_of_the_worker_and_of_the_task_surrounds_it() -> None:
    seen: list[str] = []

    class Noting(Middleware):
        def __init__(self, name: str, *, fails: bool = False) -> None:
            self.name, self.fails = name, fails

        def before(self, ctx: Context) -> None:
            seen.append(self.name)

        def after(self, ctx: Context, result: Any) -> None:
            if self.fails:
                raise ValueError("not good enough")

    @task(middleware=[Noting("task", fails=True)])
    def surrounded(ctx: Context) -> None: ...

    trial = run_task(surrounded, middleware=[Noting("worker")])

    assert seen == ["worker", "task"]
    assert (trial.state, str(trial.exception)) == (JobState.RETRYING, "not good enough")


def test_the_context_tells_what_the_claim_would_tell() -> None:
    seen: list[Any] = []

    @task
    def look(ctx: Context) -> None:
        seen.extend([ctx.job_id, ctx.fence, ctx.job.tags, ctx.job.failures, ctx.cancelled, ctx.lease_at_risk])

    job_id = "00000000-0000-4000-8000-000000000001"
    run_task(look, id=job_id, fence=7, tags=["a"], failures=2, lease_at_risk=True)
    assert seen == [job_id, 7, ("a",), 2, False, True]


@pytest.mark.parametrize(("raises", "state"), [(False, JobState.COMPLETED), (True, JobState.CANCELLED)])
def test_a_handler_that_is_told_to_stop_may_finish_or_give_up(raises: bool, state: JobState) -> None:
    @task
    def told(ctx: Context) -> None:
        if ctx.cancelled and raises:
            raise InterruptedError

    assert run_task(told, cancelled=True).state is state


def test_too_many_follow_ups_are_refused_as_in_a_worker() -> None:
    @task
    def greedy(ctx: Context) -> None:
        for _ in range(201):
            ctx.enqueue("next")

    assert isinstance(run_task(greedy).exception, TooManyFollowUps)


def test_nothing_can_be_asked_for_after_the_end() -> None:
    kept: list[Context] = []

    @task
    def keep(ctx: Context) -> None:
        kept.append(ctx)

    run_task(keep)

    with pytest.raises(AttemptEnded):
        kept[0].enqueue("next")


def test_a_job_that_no_producer_could_ask_for_is_refused() -> None:
    with pytest.raises(BadInput, match="queue"):
        run_task(send, {"to": "ada"}, queue="no such queue")


async def test_where_a_loop_runs_the_task_can_use_it() -> None:
    loops: list[object] = []

    @task
    async def look(ctx: Context) -> None:
        loops.append(asyncio.get_running_loop())

    assert (await run_task_async(look)).state is JobState.COMPLETED
    assert loops == [asyncio.get_running_loop()]
    with pytest.raises(RuntimeError, match="await run_task_async"):
        run_task(look)


def test_both_ways_of_running_take_the_same_fields() -> None:
    assert inspect.signature(run_task) == inspect.signature(run_task_async)


@pytest.fixture
def client(redis_url: str) -> Iterator[Client]:
    with Client(redis_url) as made:
        yield made


def test_a_worker_on_a_server_agrees_with_every_trial(client: Client, redis_url: str) -> None:
    cases: list[tuple[AnyTask, Any, dict[str, Any]]] = [
        (send, {"to": "ada"}, {}),
        (send, {"to": "nobody"}, {}),
        (send, {"to": "nobody"}, {"max_attempts": 1}),
        (send, {"to": "nobody"}, {"max_attempts": 0}),
        (send, {"to": "never"}, {}),
        (send, {"copies": 1}, {}),
        (blocking, "fail", {"max_attempts": 1}),
        (endless, None, {}),
        (unwritable, None, {"max_attempts": 1}),
    ]
    trials = [run_task(one, payload, **fields) for one, payload, fields in cases]
    jobs = [new_job(one.name, payload, **fields) for one, payload, fields in cases]

    with Worker.of([send, blocking, endless, unwritable], redis_url=redis_url, queues="default"):
        client.enqueue_many(jobs)
        for job, trial in zip(jobs, trials, strict=True):
            eventually_sync(partial(agrees, client, job.id, trial))


def agrees(client: Client, job_id: str, trial: Trial) -> bool:
    """Whether the job ended as its trial did; one that is retried may be further by now."""
    job = client.job(job_id)
    assert (job.error and job.error.kind, job.error and job.error.message) == (
        trial.error and trial.error.kind,
        trial.error and trial.error.message,
    )
    if trial.state is JobState.RETRYING:
        assert job.failures >= 1
        return True
    assert (job.state, job.reason, job.result or b"") == (trial.state, trial.reason, trial.stored)
    return True
