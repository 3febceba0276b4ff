"""Claimed jobs, held jobs and scripted stores for the worker's tests."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from leaseforge.answers import Answer
from leaseforge.calls import Call
from leaseforge.claimed import Claimed
from leaseforge.exchanges import Exchanged
from leaseforge.jobs import JobState, Options
from leaseforge_worker.held import Held

_serial = itertools.count(1)


class Clock:
    """Monotonic time that a test moves by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def claimed(
    type: str = "echo",
    *,
    payload: bytes = b"null",
    queue: str = "default",
    options: Options | None = None,
    **facts: Any,
) -> Claimed:
    """A claimed job with an id and a token nobody had before."""
    number = next(_serial)
    values: dict[str, Any] = {
        "id": f"00000000-0000-4000-8000-{number:012d}",
        "queue": queue,
        "token": f"{number}.run",
        "fence": number,
        "type": type,
        "payload": payload,
        "content_type": "application/json",
        "attempt": 1,
        "failures": 0,
        "recoveries": 0,
        "replays": 0,
        "priority": 0,
        "options": options or Options.decode(None),
        "created_at_ms": 1_700_000_000_000,
        "ready_at_ms": 1_700_000_000_500,
        "tags": (),
        "traceparent": None,
    }
    return Claimed(**values | facts)


def held(clock: Callable[[], float], job: Claimed | None = None, *, lease_s: float = 10.0, age_s: float = 0.0) -> Held:
    """A held job whose lease was confirmed `age_s` ago."""
    return Held(job or claimed(), confirmed_at=clock() - age_s, lease_s=lease_s, clock=clock)


def exchanged(
    *jobs: Claimed,
    states: Sequence[JobState] = (),
    settled: Sequence[Answer] | None = None,
    more: bool = False,
    status: Answer | None = None,
    wait_ms: int | None = None,
) -> Exchanged:
    """An exchange's answer: these jobs claimed, and the settlements led to these states."""
    return Exchanged(
        settled=tuple(settled if settled is not None else [Answer.OK] * len(states)),
        states=tuple(states),
        claimed=jobs,
        status=status or (Answer.OK if jobs else Answer.EMPTY),
        wait_ms=wait_ms,
        more=more,
    )


class ScriptedStore:
    """Answers calls from a list: a value, an exception to raise, or a function of the call. Remembers every call."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[Call[Any]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def run(self, call: Call[Any], /) -> Any:
        self.calls.append(call)
        await self.gate.wait()
        return answer_to(call, self.answers)

    def arguments(self, index: int) -> dict[str, Any]:
        """The named arguments of the call with this index."""
        return dict(self.calls[index].args)


class ScriptedSyncStore:
    """The same for the renewal thread."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[Call[Any]] = []

    def run(self, call: Call[Any], /) -> Any:
        self.calls.append(call)
        return answer_to(call, self.answers)


def answer_to(call: Call[Any], answers: list[Any]) -> Any:
    answer = answers.pop(0)
    if isinstance(answer, BaseException):
        raise answer
    return answer(call) if callable(answer) else answer
