"""Several worker processes under one parent, which runs no jobs: it starts, restarts, stops and asks them."""

import asyncio
import signal
from collections.abc import Callable, Collection, Sequence

import structlog

from leaseforge import events, logs
from leaseforge.errors import LeaseforgeError
from leaseforge_worker.health import HealthServer
from leaseforge_worker.pauses import Pauses
from leaseforge_worker.process import End, ProcessState, WorkerProcess
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.stop_signals import StopSignals
from leaseforge_worker.whole import Whole
from leaseforge_worker.worker import OK, WORN_OUT

log = structlog.get_logger()

SIGNALS = (signal.SIGTERM, signal.SIGINT)
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0
GOOD_LIFE_S = 30.0
"""A process that lived this long before it died starts again with the first pause."""
FAILED_STARTS = 5
"""So many starts in a row that came to nothing, while no process works, end the whole."""
LEAVES_WITHIN_S = 10.0
"""Beyond the drain time a process needs a moment to release what is left; one that does not leave then is killed."""


class ProcessesFailed(LeaseforgeError):
    """The processes cannot be kept running; `status` is the exit status of the one that failed last."""

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message)


def run_processes(
    settings: WorkerSettings, command: Callable[[int], Sequence[str]], *, hopeless: Collection[int]
) -> int:
    """Runs `settings.processes` workers until they are told to stop; the worst of their exit statuses.

    `command` gives the command line of a worker for the descriptor of its ParentChannel. `hopeless` are the exit
    codes with which a worker has said why it cannot start: the first to end so ends the whole.

    The first SIGTERM or SIGINT drains all processes; a second one ends them at once. Raises AddressInUse and
    ProcessesFailed.
    """
    logs.configure(settings.log_level, format=settings.log_format)
    return asyncio.run(Processes(settings, command, hopeless=hopeless).run())


class Processes:
    """The parent. The first process starts alone, so that a mistake is told once; the others once it takes up work.

    A process that dies is started again after growing pauses, one that is worn out at once. One that leaves with
    status 0 was told to, by an operator: it stays away.
    """

    def __init__(
        self, settings: WorkerSettings, command: Callable[[int], Sequence[str]], *, hopeless: Collection[int]
    ) -> None:
        self._settings = settings
        self._hopeless = hopeless
        self._stop = asyncio.Event()
        self._working = asyncio.Event()
        """Set once any process has taken up work."""
        self._failed_starts = 0
        self._failure: ProcessesFailed | None = None
        self._statuses = [OK]
        self._signals = StopSignals()
        self._hasty_status = OK
        self._processes = [
            WorkerProcess(number, command, began=self._began) for number in range(1, settings.processes + 1)
        ]

    async def run(self) -> int:
        """Runs all until they have left; the exit status."""
        loop = asyncio.get_running_loop()
        whole = Whole(self._processes, self._stop, loop)
        address = self._settings.metrics_address
        server = None
        if address is not None:
            token = self._settings.metrics_token
            server = HealthServer(address, health=whole.health, metrics=whole.metrics, metrics_token=token)
        for number in SIGNALS:
            loop.add_signal_handler(number, self._signalled, number)
        log.info(
            events.PROCESSES_STARTED,
            processes=len(self._processes),
            metrics="{}:{}".format(*server.address) if server else "off",
        )
        limit = asyncio.create_task(self._kill_late_ones())
        try:
            await asyncio.gather(*map(self._keep, self._processes))
        finally:
            limit.cancel()
            for number in SIGNALS:
                loop.remove_signal_handler(number)
            for process in self._processes:
                process.kill()  # only if we end by an error of our own: otherwise all have left
            if server is not None:
                await asyncio.to_thread(server.close)
        if self._failure is not None:
            raise self._failure
        status = self._hasty_status or max(self._statuses)
        log.info(events.PROCESSES_STOPPED, status=status)
        return status

    def ask_to_stop(self) -> None:
        """Asks all for a drain; asking again changes nothing."""
        self._stop.set()
        for process in self._processes:
            process.drain()

    def _signalled(self, number: int) -> None:
        """Passes a signal on. A terminal sends Ctrl-C to the processes as well: they take it as one request."""
        if self._signals.ask_for_haste(number):
            self._hasty_status = 128 + number
            for process in self._processes:
                process.kill()
        elif not self._stop.is_set():
            log.info(events.PROCESSES_STOPPING, signal=signal.Signals(number).name)
            self.ask_to_stop()

    async def _keep(self, process: WorkerProcess) -> None:
        """Starts a process and starts it again, until it is to stay away."""
        if process is not self._processes[0]:
            await self._either(self._working)
        pauses = Pauses(first_s=FIRST_PAUSE_S, longest_s=LONGEST_PAUSE_S)
        while not self._stop.is_set():
            end = await self._live(process)
            if self._stop.is_set():
                break
            if end.status == OK and end.began:
                log.info(events.PROCESS_LEFT, process=process.number)
                break
            if not end.began and (failure := self._failed_start(process, end)) is not None:
                self._failure = failure
                self.ask_to_stop()
                break
            if end.lived_s > GOOD_LIFE_S:
                pauses.reset()
            pause_s = 0.0 if end.began and end.status == WORN_OUT else pauses.next_s()
            log.warning(
                events.PROCESS_ENDED,
                process=process.number,
                pid=end.pid,
                how=end.how,
                lived_s=round(end.lived_s, 1),
                next_start_in_s=round(pause_s, 2),
            )
            await self._either(self._stop, within_s=pause_s)
        process.resting = ProcessState.STOPPED
        if not any(other.resting is not ProcessState.STOPPED for other in self._processes):
            self._stop.set()

    async def _live(self, process: WorkerProcess) -> End:
        """One life of a process. One that was told to stop before it could take up work ended as asked."""
        try:
            end = await process.run_once()
        except OSError as error:
            log.error(events.PROCESS_ENDED, process=process.number, how=f"could not be started: {error}")
            return End(None, 1, began=False, lived_s=0.0)
        if self._stop.is_set():
            asked = not end.began and end.status in {128 + number for number in SIGNALS}
            self._statuses.append(OK if asked else end.status)
        return end

    def _began(self) -> None:
        self._failed_starts = 0
        self._working.set()
        if self._stop.is_set():
            self.ask_to_stop()

    def _failed_start(self, process: WorkerProcess, end: End) -> ProcessesFailed | None:
        """What to tell if this start was the last: it said why, nothing has ever worked, or nothing works any more."""
        self._failed_starts += 1
        if any(other.has_begun and other.pid is not None for other in self._processes):
            return None
        if end.status in self._hopeless and not self._working.is_set():
            return ProcessesFailed("the worker processes cannot run like this, see above", end.status)
        if self._failed_starts < FAILED_STARTS:
            return None
        return ProcessesFailed(
            f"gave up after {self._failed_starts} starts in a row at which no worker process took up work: "
            f"the last one, process {process.number}, {end.how}",
            end.status or 1,
        )

    async def _kill_late_ones(self) -> None:
        """What keeps a process from leaving, such as C code that holds the interpreter, does not keep us."""
        await self._stop.wait()
        await asyncio.sleep(self._settings.drain_s + LEAVES_WITHIN_S)
        for process in self._processes:
            if process.pid is not None:
                log.error(
                    events.PROCESS_KILLED, process=process.number, after_s=self._settings.drain_s + LEAVES_WITHIN_S
                )
                process.kill()

    async def _either(self, event: asyncio.Event, *, within_s: float | None = None) -> None:
        """Waits for the event, the request to stop, or the time."""
        waits = {asyncio.create_task(one.wait()) for one in (event, self._stop)}
        try:
            await asyncio.wait(waits, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
