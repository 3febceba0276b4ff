"""A worker process that kills itself at a chosen call to Redis. Only tests have such points; the product has none.

FAILPOINT is `before:NAME:N` or `after:NAME:N`: the N-th call of the script NAME (or `wait`), before it is sent or once
its answer is here.
"""

import os
import signal
from collections import Counter
from collections.abc import Sequence
from typing import Any

import leaseforge_worker.worker as worker_module
from leaseforge.calls import Batch, Call, Plan, Replicated, Step
from leaseforge.store import Store, SyncStore
from leaseforge.store.address import parse_address
from leaseforge_cli.main import main


class Failpoint:
    """Counts calls and ends the process as kill -9 does."""

    def __init__(self, text: str) -> None:
        self._when, self._name, number = text.split(":")
        self._number = int(number)
        self._seen: Counter[str] = Counter()

    def passed(self, when: str, *names: str) -> None:
        """The process stands right before or right after calls of these names."""
        if when == self._when and self._name in names:
            self._seen[when] += 1
            if self._seen[when] == self._number:
                os.kill(os.getpid(), signal.SIGKILL)


FAILPOINT = Failpoint(os.environ["FAILPOINT"])


def names_of(step: Step | Call[Any]) -> list[str]:
    match step:
        case Call():
            return [step.script.name]
        case Batch():
            return [call.script.name for call in step.calls]
        case Replicated():
            return [step.call.script.name]


def watched(plan: Plan[Any]) -> Plan[Any]:
    """The same plan, with the failpoint before and after each step."""
    try:
        step = next(plan)
        while True:
            FAILPOINT.passed("before", *names_of(step))
            try:
                answer = yield step
            except Exception as error:
                step = plan.throw(error)
            else:
                FAILPOINT.passed("after", *names_of(step))
                step = plan.send(answer)
    except StopIteration as end:
        return end.value


class FailingStore(Store):
    """The worker's store with the failpoint around every call."""

    async def run(self, work: Any) -> Any:
        if not isinstance(work, Call):
            return await super().run(watched(work))
        FAILPOINT.passed("before", *names_of(work))
        answer = await super().run(work)
        FAILPOINT.passed("after", *names_of(work))
        return answer

    async def wait(self, queues: Sequence[str], *, timeout_s: float) -> str | None:
        FAILPOINT.passed("before", "wait")
        answer = await super().wait(queues, timeout_s=timeout_s)
        FAILPOINT.passed("after", "wait")
        return answer


class FailingSyncStore(SyncStore):
    """The same for the store of the renewal thread."""

    def run(self, work: Any) -> Any:
        if not isinstance(work, Call):
            return super().run(watched(work))
        FAILPOINT.passed("before", *names_of(work))
        answer = super().run(work)
        FAILPOINT.passed("after", *names_of(work))
        return answer

    def run_many(self, calls: Sequence[Call[Any]]) -> list[Any]:
        names = {name for call in calls for name in names_of(call)}
        FAILPOINT.passed("before", *names)
        answers = super().run_many(calls)
        FAILPOINT.passed("after", *names)
        return answers


if __name__ == "__main__":
    replaced: dict[str, Any] = {
        "connect": lambda url, **options: FailingStore(parse_address(url), **options),
        "connect_sync": lambda url, **options: FailingSyncStore(parse_address(url), **options),
    }
    for name, substitute in replaced.items():
        assert hasattr(worker_module, name), f"the worker no longer opens its stores by {name}"
        setattr(worker_module, name, substitute)
    main()
