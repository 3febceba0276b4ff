"""What happens to jobs in this worker's hands: where each event of their life leads."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import structlog

from leaseforge import events, logs
from leaseforge.exchanges import Outcome, Settlement, tick
from leaseforge.pulse import Pulse
from leaseforge.registry import Registry
from leaseforge_worker import outcomes
from leaseforge_worker.attempt import Attempts
from leaseforge_worker.exchange import QueueExchange, Runs
from leaseforge_worker.held import Held, HeldJobs, Stop
from leaseforge_worker.intake import Intake
from leaseforge_worker.link import Link
from leaseforge_worker.messenger import Messenger, RunsMany
from leaseforge_worker.metrics import Meters
from leaseforge_worker.pool import Pool
from leaseforge_worker.queues import Turns
from leaseforge_worker.settings import WorkerSettings

if TYPE_CHECKING:
    from leaseforge_worker.job_traces import JobTraces

log = structlog.get_logger()

Spawn = Callable[[str, Callable[[], Awaitable[None]]], object]
"""Runs a loop under supervision, by name."""


class Calls(Runs, RunsMany, Protocol):
    """What the parts that handle jobs need of a store."""


class Custody:
    """Joins the parts that handle jobs: exchanges bring them, the pool starts them, attempts run them.

    All methods belong to the event loop.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        tasks: Registry,
        *,
        run_id: str,
        store: Calls,
        link: Link,
        meters: Meters,
        pulse: Pulse,
        spawn: Spawn,
        refresh: Callable[[], None],
        worn_out: Callable[[], None],
        forward: Callable[[str], None],
        traces: "JobTraces | None" = None,
    ) -> None:
        verbose = logs.level_of("worker", settings.log_level) <= logging.DEBUG
        self.held = HeldJobs()
        self.attempts = Attempts(
            tasks,
            settings.policy,
            slots=settings.concurrency,
            ended=self.ended,
            worn_out=worn_out,
            meters=meters,
            verbose=verbose,
            traces=traces,
        )
        self.pool = Pool(
            slots=settings.concurrency,
            batch=settings.batch_size,
            held=self.held,
            start=self.attempts.start,
            refresh=refresh,
            give_back=self.give_back,
        )
        self.intake = Intake(self.pool, Turns(settings.queues))
        self.exchanges: dict[str, QueueExchange] = {}
        self.messenger = Messenger(
            store=store,
            running=lambda: self.pool.running,
            settle=self._hand_over,
            cancelled=self.cancelled,
            lost=self.lost,
            link=link,
            meters=meters,
            beat=lambda: pulse.beat("words"),
        )
        self._settings = settings
        self._run_id = run_id
        self._store = store
        self._link = link
        self._meters = meters
        self._spawn = spawn
        self._forward = forward
        self._verbose = verbose
        self._traces = traces
        spawn("words", self.messenger.run)

    @property
    def unsettled(self) -> int:
        """Attempts that ended and whose settlement is not committed yet."""
        return self.messenger.unsettled + sum(exchange.unsettled for exchange in self.exchanges.values())

    def serve(self, queues: Sequence[str]) -> None:
        """Serves these queues from now on, besides those it serves already."""
        policy = self._settings.policy
        for queue in queues:
            if queue in self.exchanges:
                continue
            exchange = self.exchanges[queue] = QueueExchange(
                queue,
                run_id=self._run_id,
                lease_ms=self._settings.lease_ms,
                store=self._store,
                pool=self.pool,
                intake=self.intake,
                held=self.held,
                link=self._link,
                meters=self._meters,
                forward=self._forward,
                verbose=self._verbose,
                traces=self._traces,
                first_sweep=tick(queue, backoff_base_ms=policy.backoff_base_ms, backoff_cap_ms=policy.backoff_cap_ms),
            )
            self._spawn(f"exchange:{queue}", exchange.run)
            self.intake.add(exchange)

    def woken(self, queue: str) -> None:
        """A wake token of this queue was taken."""
        self.exchanges[queue].woken()

    def ended(self, held: Held) -> None:
        """An attempt ended: its slot goes to the next job, its settlement to the next exchange."""
        self.pool.ended(held)
        self._settle(held)
        if self.pool.has_free_slot():
            self.intake.feed()

    def give_back(self, jobs: Sequence[Held]) -> None:
        """Jobs that never started go back, uncharged, to the front of their queues."""
        self._meters.given_back += len(jobs)
        for held in jobs:
            self._end_unstarted(held, outcomes.released(held))

    def lost(self, held: Held) -> None:
        """A renewal was refused: another claim has the job. What it still does here counts for nothing."""
        if held.ended or held.stop is Stop.FENCED:
            return  # once ended, its settlement will be refused by itself
        self._meters.fenced += 1
        log.warning(events.JOB_FENCED, at="renew", **held.facts)
        self.held.discard(held)
        if self.pool.remove(held):
            held.ended = True
            self.intake.feed()
        else:
            self.attempts.stop(held, Stop.FENCED)

    def cancelled(self, held: Held) -> None:
        """An operator cancelled the job."""
        if held.ended or held.stop is not None:
            return
        if self.pool.remove(held):
            self._end_unstarted(held, Settlement(held.claimed.id, held.claimed.token, Outcome.CANCELLED))
            self.intake.feed()
        else:
            self.attempts.stop(held, Stop.CANCELLED)

    def renewed(self) -> None:
        """A renewal pass is through: what waited for it may start."""
        self.pool.renewed()
        self.intake.feed()

    def quiet(self) -> None:
        """Claims nothing new; what is held goes on."""
        self.pool.accepting = False
        self.intake.feed()

    def resume(self) -> None:
        """Claims again."""
        self.pool.accepting = True
        self.intake.set_all_hungry()

    def close(self) -> None:
        """Ends timers and idle threads."""
        self.attempts.close()
        self.pool.close()
        for exchange in self.exchanges.values():
            exchange.close()

    def _end_unstarted(self, held: Held, settlement: Settlement) -> None:
        held.ended = True
        held.settlement = settlement
        self._settle(held)

    def _settle(self, held: Held) -> None:
        if held.settlement is None:
            self.held.discard(held)
        elif held.has_unsent_words:
            self.messenger.finish(held)
        else:
            self._hand_over(held)

    def _hand_over(self, held: Held) -> None:
        self.exchanges[held.claimed.queue].settle(held)


def in_loop(loop: asyncio.AbstractEventLoop, function: Callable[..., None]) -> Callable[..., None]:
    """`function`, callable from other threads: it runs on the event loop, or not at all once that is closed."""

    def post(*arguments: object) -> None:
        try:
            loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            if not loop.is_closed():
                raise

    return post
