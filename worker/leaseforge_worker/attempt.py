"""One run of one job: resolve its task, read its payload, run the handler, settle."""

import asyncio
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from leaseforge import events
from leaseforge.context import Context
from leaseforge.exchanges import Settlement
from leaseforge.jobs import Options
from leaseforge.policies import Policy
from leaseforge.registry import Registry
from leaseforge.tasks import AnyTask, BadPayload
from leaseforge_worker import outcomes
from leaseforge_worker.child_ends import Crashed, End
from leaseforge_worker.children import Children
from leaseforge_worker.deadlines import Deadlines
from leaseforge_worker.frames import Returned
from leaseforge_worker.held import Clock, Held, Stop
from leaseforge_worker.metrics import Meters
from leaseforge_worker.threads import Threads

if TYPE_CHECKING:
    from leaseforge_worker.job_traces import JobTraces

log = structlog.get_logger()

GRACE_S = 1.0
"""How long an attempt that was told to stop may clean up before its slot is given to other jobs."""

_NOTHING_SET = Options.decode(None)
"""The one object that stands for "the job sets nothing itself"."""


class Attempts:
    """Runs held jobs. `ended` is called once for each, on the event loop, with `held.settlement` set.

    The settlement is None where another claim has the job: then nothing is told to Redis.
    `worn_out` is called when as many abandoned attempts go on as there are slots.
    """

    def __init__(
        self,
        tasks: Registry,
        defaults: Policy,
        *,
        slots: int,
        ended: Callable[[Held], None],
        worn_out: Callable[[], None],
        meters: Meters,
        clock: Clock = time.monotonic,
        verbose: bool = False,
        traces: "JobTraces | None" = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = tasks
        self._defaults = defaults
        self._policies = {task.name: defaults.overlaid(task.options) for task in tasks}
        self._slots = slots
        self._ended = ended
        self._worn_out = worn_out
        self._meters = meters
        self._clock = clock
        self._verbose = verbose
        self._traces = traces
        self._loop = loop
        self._context = copy_context()
        self._threads = Threads(size=slots, loop=loop, deliver=self._from_thread)
        self._deadlines = Deadlines(loop=loop, expired=self._expired)
        self._children = Children(
            tasks, loop=loop, started=self._in_child, ended=self._from_child, records=traces is not None
        )
        self._abandoned: set[Held] = set()

    @property
    def abandoned(self) -> int:
        """Attempts that were given up and still go on somewhere in this process."""
        return len(self._abandoned)

    @property
    def children(self) -> int:
        """Child processes there are for isolated tasks, at most as many as slots."""
        return len(self._children)

    def start(self, held: Held) -> None:
        """Begins the attempt. It may end before this returns: a job nobody can run fails here."""
        task = self._resolve(held)
        if task is None:
            return
        if self._traces is not None:
            self._traces.started(held)
        if task.isolation is not None:
            self._children.submit(held, task.isolation)
            return
        try:
            payload = task.decode(held.claimed.payload)
        except BadPayload as error:
            self._fail(held, outcomes.unreadable(error))
            return
        except Exception as error:  # an author's own type may raise anything while it is built
            self._fail(held, outcomes.failure_of(error))
            return
        self._begin(held, task)
        context = Context(held.claimed, held)
        if task.is_async:
            # Its own copy of the worker's context: this code may run at the end of another job's handler.
            run = self._on_loop(held, task, context, payload)
            around = self._context.copy()
            if self._traces is not None:
                around.run(self._traces.enter, held)
            held.task = self._loop.create_task(run, context=around)
        else:
            call = partial(self._tasks.handler(task.name), context, payload)
            self._threads.submit(held, call if self._traces is None else partial(self._traces.call, held, call))

    def stop(self, held: Held, reason: Stop) -> None:
        """Tells a running attempt to end. Losing the lease overrides every other reason; else the first one holds.

        A coroutine is cancelled, here and in a child process. A thread can only be told: it is given up at once when
        its time is over or the worker goes, else after a grace. A child process is killed after the grace.
        """
        if held.ended or (held.stop is not None and reason is not Stop.FENCED):
            return
        told = held.stop is not None
        held.stop = reason
        if told:
            return
        if held.isolated:
            if not self._children.stop(held):  # no child has it yet
                self._finish(held, outcomes.stopped(held, self._policy(held)))
                return
        elif held.task is not None:
            held.task.cancel()
            if not held.entered:  # the coroutine will never run, so it cannot tell its end itself
                self._finish(held, outcomes.stopped(held, self._policy(held)))
                return
        elif reason in (Stop.TIMEOUT, Stop.RELEASED):
            self.abandon(held)
            return
        held.deadline = self._clock() + GRACE_S
        self._deadlines.watch(held)

    def abandon(self, held: Held) -> None:
        """Gives up on an attempt that does not end: it is settled, its slot is free, its outcome will not count."""
        if held.ended:
            return
        if held.isolated:
            self._children.kill(held)
            log.warning(events.CHILD_KILLED, reason=held.stop, **held.facts)
            self._finish(held, outcomes.stopped(held, self._policy(held)))
            return
        if held.task is None:
            if not self._threads.abandon(held):
                return
        else:
            held.abandoned = True
            held.task.cancel()
        self._abandoned.add(held)
        log.warning(events.ATTEMPT_ABANDONED, reason=held.stop, **held.facts)
        self._finish(held, outcomes.stopped(held, self._policy(held)))
        if len(self._abandoned) >= self._slots:
            self._worn_out()

    def close(self) -> None:
        """Ends the timer, the idle threads and the child processes."""
        self._deadlines.close()
        self._children.close()
        self._threads.close()

    def _resolve(self, held: Held) -> AnyTask | None:
        """The task for the job's type; without one the attempt fails like any other, with its retries."""
        task = self._tasks.get(held.claimed.type)
        if task is None:
            message = f"no task of this worker is named {held.claimed.type!r}"
            self._fail(held, outcomes.Failure(outcomes.UNKNOWN_TYPE, message))
        return task

    def _policy(self, held: Held) -> Policy:
        """How this job is run: by its own options, else its task's, else the product's."""
        if held.policy is None:
            policy = self._policies.get(held.claimed.type, self._defaults)
            options = held.claimed.options
            held.policy = policy if options is _NOTHING_SET else policy.overlaid(options)
        return held.policy

    def _begin(self, held: Held, task: AnyTask) -> None:
        """Starts the clocks."""
        held.started_at = self._clock()
        self._meters.waited(held.claimed.queue, time.time() - held.claimed.ready_at_ms / 1000)
        timeout_ms = self._policy(held).timeout_ms
        if timeout_ms is not None:
            held.deadline = held.started_at + timeout_ms / 1000
            self._deadlines.watch(held)
        if self._verbose:
            log.debug(events.JOB_STARTED, attempt=held.claimed.attempt, **held.facts)

    async def _on_loop(self, held: Held, task: AnyTask, context: Context, payload: Any) -> None:
        """A coroutine handler, from its first step to its settlement."""
        held.entered = True
        try:
            result = await self._tasks.handler(task.name)(context, payload)
        except GeneratorExit:  # the event loop is gone and Python tidies up
            raise
        except BaseException as error:  # whatever a handler raises, SystemExit too, is its failure
            self._finish(held, self._broken(held, error))
        else:
            self._finish(held, self._returned(held, result))

    def _from_thread(self, held: Held, result: Any, error: BaseException | None) -> None:
        """What a `def` handler returned or raised, back on the event loop."""
        self._finish(held, self._returned(held, result) if error is None else self._broken(held, error))

    def _in_child(self, held: Held) -> None:
        """An isolated handler begins: until now its child process was starting, which costs a job no time."""
        task = self._tasks.get(held.claimed.type)
        if task is not None and held.stop is None:
            self._begin(held, task)

    def _from_child(self, held: Held, end: End) -> None:
        """How an isolated attempt ended."""
        policy = self._policy(held)
        match end:
            case Returned():
                for job in end.follow_ups:
                    held.follow_up(job)
                self._finish(held, self._returned(held, end.result))
            case Crashed() if held.stop is None:
                log.warning(events.CHILD_DIED, kind=end.failure.kind, **held.facts)
                self._finish(held, outcomes.crashed(held, policy, end.failure))
            case _ if held.stop is not None:
                self._finish(held, outcomes.stopped(held, policy, end.failure.trace))
            case _:
                self._fail(held, end.failure)

    def _fail(self, held: Held, failure: outcomes.Failure) -> None:
        self._finish(held, outcomes.failed(held, self._policy(held), failure))

    def _returned(self, held: Held, result: Any) -> Settlement | None:
        """A handler that finished although it was told to stop has finished, unless the job is another's by now."""
        return None if held.stop is Stop.FENCED else outcomes.completed(held, result, self._policy(held))

    def _broken(self, held: Held, error: BaseException) -> Settlement | None:
        failure, policy = outcomes.failure_of(error), self._policy(held)
        if held.stop is not None:
            return outcomes.stopped(held, policy, failure.trace)
        return outcomes.failed(held, policy, failure)

    def _finish(self, held: Held, settlement: Settlement | None) -> None:
        """Stops the clocks and hands the attempt over, once; the end of an abandoned one is only noted."""
        if held.ended:
            self._abandoned.discard(held)
            return
        held.ended = True
        held.settlement = settlement
        if self._traces is not None:
            self._traces.ended(held)
        if held.deadline:
            self._deadlines.forget(held)
        if held.started_at:
            self._meters.ran(held.claimed.type, self._clock() - held.started_at)
        self._ended(held)

    def _expired(self, held: Held) -> None:
        """A deadline passed: the job's timeout, or the grace of an attempt that was told to stop."""
        if held.stop is None:
            self.stop(held, Stop.TIMEOUT)
        else:
            self.abandon(held)
