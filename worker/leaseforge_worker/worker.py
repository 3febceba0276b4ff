"""The worker: one process, or one part of one, that runs the jobs of some queues."""

import asyncio
import os
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Self

import structlog

from leaseforge import events
from leaseforge.errors import StoreError
from leaseforge.pulse import Pulse
from leaseforge.registry import Registry
from leaseforge.store import Store, SyncStore, connect, connect_sync
from leaseforge.tasks import AnyTask
from leaseforge.workers import WorkerState
from leaseforge_worker.background import Startable
from leaseforge_worker.custody import Custody, in_loop
from leaseforge_worker.discovery import Discovery
from leaseforge_worker.drain import Drain
from leaseforge_worker.forwarding import Forwarding
from leaseforge_worker.health import Health, HealthServer
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Exposition, Gauges, Meters
from leaseforge_worker.program import program_settings
from leaseforge_worker.readiness import Readiness
from leaseforge_worker.registry import Registration
from leaseforge_worker.renewal import Renewal
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.supervision import end_tasks, supervise
from leaseforge_worker.ticker import Ticker
from leaseforge_worker.waiting import Waiting

if TYPE_CHECKING:
    from leaseforge.tracing_sdk import Recording
    from leaseforge_worker.job_traces import JobTraces

log = structlog.get_logger()

OK = 0
WORN_OUT = 75
"""Exit status of a worker with as many abandoned attempts as slots: a fresh process will do better."""

_SHORTEST_TIMEOUT_S = 0.5
_LONGEST_TIMEOUT_S = 5.0


def new_run_id() -> str:
    """A name for one life of one worker, at most 44 bytes: host, process, and something nobody had before."""
    host = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:20] or "host"
    return f"{host}-{os.getpid()}-{secrets.token_hex(5)}"


def _traces(recording: "Recording", run_id: str) -> "JobTraces":
    from leaseforge_worker.job_traces import JobTraces  # needs OpenTelemetry

    return JobTraces(recording, run_id)


class Worker(Startable):
    """Runs jobs until it is stopped. One object is one life of a worker: it runs once.

    In an asyncio program `status = await worker.run()`; in any other it runs beside it, in a thread:

        with Worker.of([send_email], redis_url="redis://127.0.0.1:6379/0", queues="mail,default"):
            ...

    Signals are the business of whoever owns the process (see leaseforge_worker.run), and so is what becomes of log
    lines, which go through structlog. `began` is called once, in the loop, when the worker takes up work. Raises
    TaskError if a child process could not find an isolated task.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        tasks: Registry,
        *,
        run_id: str | None = None,
        began: Callable[[], None] = lambda: None,
        recording: "Recording | None" = None,
    ) -> None:
        super().__init__()
        tasks.whereabouts()
        self.run_id = run_id or new_run_id()
        self.meters = Meters(types=frozenset(tasks.names()))
        self.link = Link()
        self.pulse = Pulse()
        self._readiness = Readiness(link=self.link, meters=self.meters, pulse=self.pulse, lease_s=settings.lease_s)
        self._settings = settings
        self._tasks = tasks
        self._began = began
        self._traces = None if recording is None else _traces(recording, self.run_id)
        self._exposition = Exposition(self.meters, self.pulse, self._gauges)
        self._custody: Custody | None = None
        self._health: HealthServer | None = None
        self._stop_asked = asyncio.Event()
        self._stop_soon: Callable[[], None] = self._stop_asked.set
        self._stopping = False
        self._status = OK

    @classmethod
    def of(
        cls,
        tasks: Registry | Iterable[AnyTask],
        *,
        redis_url: str,
        queues: str | Sequence[str] | Mapping[str, int] | None = None,
        concurrency: int | None = None,
        lease_s: float | None = None,
        drain_s: float | None = None,
        metrics_address: str | None = None,
    ) -> Self:
        """A worker of a program: a few settings, the others as their defaults say; no metrics unless asked for.

        `queues` as in the setting (`"a,b"`, `"a=3,b=1"`, `"*"`), or names in strict order, or names with weights.
        Raises SettingsError that names every wrong one, TaskError.
        """
        settings = program_settings(
            redis_url=redis_url,
            queues=queues,
            concurrency=concurrency,
            lease_s=lease_s,
            drain_s=drain_s,
            metrics_address="off" if metrics_address is None else metrics_address,
        )
        return cls(settings, tasks if isinstance(tasks, Registry) else Registry(tasks))

    @property
    def state(self) -> WorkerState:
        """What the worker does with new work now."""
        if self._stopping:
            return WorkerState.STOPPING
        accepts = self._custody is not None and self._custody.pool.accepting
        return WorkerState.RUNNING if accepts else WorkerState.QUIET

    @property
    def health_address(self) -> tuple[str, int] | None:
        """Where probes and metrics are served while it runs."""
        return self._health.address if self._health else None

    def health(self) -> Health:
        """What a probe may know. Callable from any thread, also while a handler blocks the loop."""
        return self._readiness.health(self.state, self._custody)

    def metrics(self) -> bytes:
        """This process's figures as a page for Prometheus. Callable from any thread."""
        return self._exposition.text()

    @property
    def is_claiming(self) -> bool:
        """Whether it has asked for jobs and Redis has answered; where it serves every queue there may be none yet."""
        return self._readiness.is_claiming

    def ask_to_stop(self) -> None:
        """Asks for a drain. Callable from any thread and from a signal handler; asking again changes nothing."""
        self._stopping = True
        self._stop_soon()

    async def run(self) -> int:
        """Works until `ask_to_stop`, then drains; the exit status. Cancelled, it gives back everything at once.

        Raises AddressInUse, StoreUnsuitable or StoreUnavailable if it cannot even begin.
        """
        self._use()
        return await self._run()

    async def _run(self) -> int:
        settings = self._settings
        self._stop_soon = in_loop(asyncio.get_running_loop(), self._stop_asked.set)
        if settings.metrics_address is not None:
            self._health = HealthServer(
                settings.metrics_address,
                health=self.health,
                metrics=self.metrics,
                metrics_token=settings.metrics_token,
            )
        try:
            timeout_s = min(max(settings.lease_s / 3, _SHORTEST_TIMEOUT_S), _LONGEST_TIMEOUT_S)
            # Each loop has its own way to try again and must see every failure: the stores repeat nothing.
            async with connect(settings.redis_url, retry_s=0.0, timeout_s=timeout_s) as store:
                await store.check()
                with connect_sync(settings.redis_url, retry_s=0.0, timeout_s=timeout_s) as sync_store:
                    await self._work(store, sync_store)
        finally:
            if self._health is not None:
                self._health.close()
        return self._status

    async def _work(self, store: Store, sync_store: SyncStore) -> None:
        """Builds the parts, starts their loops, and waits for the reason to leave."""
        settings = self._settings
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            loops: list[asyncio.Task[None]] = []

            def spawn(name: str, run: Callable[[], Awaitable[None]]) -> None:
                loops.append(group.create_task(supervise(name, run, self.pulse), name=name))

            forwarding = Forwarding(
                store=store,
                link=self.link,
                meters=self.meters,
                beat=self._beat("forward"),
            )
            custody = self._custody = Custody(
                settings,
                self._tasks,
                run_id=self.run_id,
                store=store,
                link=self.link,
                meters=self.meters,
                pulse=self.pulse,
                spawn=spawn,
                refresh=lambda: renewal.refresh(),
                worn_out=self._worn_out,
                forward=forwarding.soon,
                traces=self._traces,
            )
            registration = self._registration(custody, sync_store, in_loop(loop, self._obey))
            renewal = Renewal(
                store=sync_store,
                held=custody.held,
                lease_ms=settings.lease_ms,
                lost=in_loop(loop, custody.lost),
                cancelled=in_loop(loop, custody.cancelled),
                renewed=in_loop(loop, custody.renewed),
                each_pass=registration.run_once,
                link=self.link,
                meters=self.meters,
                pulse=self.pulse,
            )
            # The queues first: the renewal thread's first report names them.
            custody.serve(settings.queues.names)
            renewal.start()
            spawn("tick", self._ticker(custody, store, registration, forwarding).run)
            spawn("forward", forwarding.run)
            if settings.queues.every:
                discovery = Discovery(store=store, found=self._found, link=self.link, beat=self._beat("discovery"))
                spawn("discovery", discovery.run)
            waiting = Waiting(store=store, intake=custody.intake, woken=custody.woken, link=self.link)
            waits = group.create_task(supervise("waiting", waiting.run, self.pulse), name="waiting")
            self._say_started()
            self._began()
            drain_s = 0.0
            try:
                await self._stop_asked.wait()
                drain_s = settings.drain_s
            finally:
                self._stopping = True
                await Drain(custody, waits, forwarding, self.link).run(drain_s)
                await end_tasks(loops)
                await asyncio.to_thread(self._leave, renewal, registration)
                custody.close()
        log.info(events.WORKER_STOPPED, worker=self.run_id, abandoned=custody.attempts.abandoned)

    def _registration(self, custody: Custody, sync_store: SyncStore, command: Callable[[str], None]) -> Registration:
        return Registration(
            store=sync_store,
            run_id=self.run_id,
            version=version("leaseforge"),
            types=self._tasks.names(),
            slots=self._settings.concurrency,
            period_s=self._settings.lease_s / 3,
            queues=lambda: custody.intake.queues,
            running=lambda: list(custody.pool.running),
            state=lambda: self.state,
            command=command,
            link=self.link,
            meters=self.meters,
            payloads=self._tasks.forms(),
        )

    def _ticker(self, custody: Custody, store: Store, registration: Registration, forwarding: Forwarding) -> Ticker:
        policy = self._settings.policy
        return Ticker(
            store=store,
            queues=lambda: custody.intake.queues,
            consumers=lambda: registration.consumers,
            forward=forwarding.left,
            lease_ms=self._settings.lease_ms,
            backoff_base_ms=policy.backoff_base_ms,
            backoff_cap_ms=policy.backoff_cap_ms,
            link=self.link,
            meters=self.meters,
            beat=self._ticked,
            traces=self._traces,
        )

    def _leave(self, renewal: Renewal, registration: Registration) -> None:
        """Off the list, in a thread: it talks to Redis with the renewal thread's connections."""
        renewal.stop(within_s=0.2 if self.link.degraded else 1.0)
        if self.link.degraded:
            return
        try:
            registration.leave()
        except StoreError as error:
            self.link.failed("registry", error)

    def _obey(self, command: str) -> None:
        """An operator's wish; one this release does not know is ignored."""
        if self._custody is None or self._stopping:
            return
        match command:
            case "quiet":
                self._custody.quiet()
            case "resume":
                self._custody.resume()
            case "stop":
                self.ask_to_stop()

    def _worn_out(self) -> None:
        if not self._stopping:
            log.error(events.WORKER_WORN_OUT, worker=self.run_id)
            self._status = WORN_OUT
            self.ask_to_stop()

    def _found(self, queues: Sequence[str]) -> None:
        if self._custody is not None:
            self._custody.serve(queues)
        self._readiness.found(queues)

    def _beat(self, name: str) -> Callable[[], None]:
        return lambda: self.pulse.beat(name)

    def _ticked(self) -> None:
        self.pulse.beat("tick")
        if self._custody is not None:
            self._readiness.ticked(self._custody)

    def _gauges(self) -> Gauges:
        custody = self._custody
        return Gauges(
            slots=self._settings.concurrency,
            running=len(custody.pool.running) if custody else 0,
            buffered=custody.pool.buffered if custody else 0,
            held=len(custody.held) if custody else 0,
            abandoned=custody.attempts.abandoned if custody else 0,
            children=custody.attempts.children if custody else 0,
            degraded=self.link.degraded,
            lease_s=self._settings.lease_s,
        )

    def _say_started(self) -> None:
        settings = self._settings
        log.info(
            events.WORKER_STARTED,
            worker=self.run_id,
            queues="*" if settings.queues.every else list(settings.queues.names),
            types=list(self._tasks.names()),
            slots=settings.concurrency,
            lease_s=settings.lease_s,
            metrics="{}:{}".format(*self._health.address) if self._health else "off",
        )
