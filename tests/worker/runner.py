"""Attempts without Redis: starts jobs and tells what they ended with."""

from typing import Any

from leaseforge.exchanges import Settlement
from leaseforge.jobs import Options
from leaseforge.policies import Policy
from leaseforge.registry import Registry
from leaseforge.tasks import AnyTask
from leaseforge_worker.attempt import Attempts
from leaseforge_worker.held import Held
from leaseforge_worker.metrics import Meters
from tests.support.waiting import eventually
from tests.worker.builders import Clock, claimed, held


class Runner:
    """Attempts over the given tasks, and what they ended with."""

    def __init__(
        self, *tasks: AnyTask, slots: int = 4, defaults: Policy | None = None, registry: Registry | None = None
    ) -> None:
        self.clock = Clock()
        self.ended: list[Held] = []
        self.worn_out = 0
        self.meters = Meters(types=frozenset(one.name for one in tasks))
        self.attempts = Attempts(
            registry or Registry(tasks),
            defaults or Policy(),
            slots=slots,
            ended=self.ended.append,
            worn_out=self._wear,
            meters=self.meters,
            clock=self.clock,
        )

    def _wear(self) -> None:
        self.worn_out += 1

    def start(self, type: str, payload: bytes = b"null", options: Options | None = None, **facts: Any) -> Held:
        job = held(self.clock, claimed(type, payload=payload, options=options, **facts))
        self.attempts.start(job)
        return job

    async def end(self, job: Held) -> Settlement | None:
        await eventually(lambda: job in self.ended, within_s=60)  # child processes start slowly on a busy machine
        assert self.ended.count(job) == 1
        return job.settlement

    async def settlement(self, type: str, payload: bytes = b"null", **facts: Any) -> Settlement:
        settlement = await self.end(self.start(type, payload, **facts))
        assert settlement is not None
        return settlement
