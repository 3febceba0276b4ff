"""How several worker processes stand together, for probes and scrapes."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from leaseforge_worker.health import Health
from leaseforge_worker.merging import merged
from leaseforge_worker.process import ANSWERS_WITHIN_S, Answer, ProcessState, WorkerProcess

_Answers = Sequence[tuple[WorkerProcess, Answer | None]]


class Whole:
    """Asks all processes at once, on behalf of the threads that serve probes. `stop` is set while all drain."""

    def __init__(
        self, processes: Sequence[WorkerProcess], stop: asyncio.Event, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._processes = processes
        self._stop = stop
        self._loop = loop

    def health(self) -> Health:
        """Redis is fine if every process that works says so, and at least one does.

        Work is taken if every process does, but for those an operator sent away.
        """
        answers = self._ask(metrics=False)
        working = [answer for process, answer in answers if answer is not None and process.has_begun]
        wanted = [answer for process, answer in answers if process.state(answer) is not ProcessState.STOPPED]
        return Health(
            redis_ok=bool(working) and all(answer.redis_ok for answer in working),
            accepts_work=not self._stop.is_set()
            and bool(wanted)
            and all(answer is not None and answer.accepts_work for answer in wanted),
        )

    def metrics(self) -> bytes:
        """The page of all processes that answer, and how many there are in each state."""
        answers = self._ask(metrics=True)
        pages = {str(process.number): answer.metrics for process, answer in answers if answer is not None}
        return merged(pages, self._own(answers))

    def _own(self, answers: _Answers) -> list[Metric]:
        """Figures only the parent knows."""
        counts = Counter(process.state(answer) for process, answer in answers)
        states = GaugeMetricFamily("leaseforge_worker_processes", "Worker processes by state", labels=["state"])
        for state in ProcessState:
            states.add_metric([state], counts[state])
        starts = CounterMetricFamily(
            "leaseforge_worker_process_starts", "Times a worker process was started", labels=["process"]
        )
        for process, _ in answers:
            starts.add_metric([str(process.number)], process.starts)
        return [states, starts]

    def _ask(self, *, metrics: bool) -> _Answers:
        """What each says, or None for one that does not run or answer."""
        asking = asyncio.run_coroutine_threadsafe(self._gather(metrics=metrics), self._loop)
        return asking.result(ANSWERS_WITHIN_S + 4.0)

    async def _gather(self, *, metrics: bool) -> _Answers:
        answers = await asyncio.gather(*(process.ask(metrics=metrics) for process in self._processes))
        return list(zip(self._processes, answers, strict=True))
