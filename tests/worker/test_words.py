"""The words of an attempt: buffered, told once, and told before the attempt is settled."""

from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from leaseforge.answers import Answer
from leaseforge.calls import Call
from leaseforge.errors import ScriptFault, StoreUnavailable
from leaseforge_worker.held import Held, Stop
from leaseforge_worker.link import Link
from leaseforge_worker.messenger import EVERY_S, Messenger
from leaseforge_worker.metrics import Meters
from leaseforge_worker.words import Said, Words
from tests.worker.builders import Clock, held


def test_lines_are_numbered_on_and_the_newest_progress_is_sent() -> None:
    words = Words()
    words.line("a")
    words.progress(1, "")
    words.progress(2, "two")
    words.line("b")

    assert words.message() == Said(1, ("a", "b"), (2, "two"))
    words.told()
    assert words.message() is None
    words.line("c")
    assert words.message() == Said(3, ("c",), None)


def test_a_message_that_was_not_told_stays_as_it_is() -> None:
    words = Words()
    words.line("a")
    first = words.message()
    words.line("b")

    assert words.message() is first
    words.told()
    assert words.message() == Said(2, ("b",), None)


def test_too_many_lines_lose_the_oldest_and_say_how_many() -> None:
    words = Words()
    for number in range(250):
        words.line(str(number))

    said = words.message()

    assert said is not None
    assert len(said.lines) == 200
    assert said.lines[0].startswith("(51 lines dropped")
    assert said.lines[1:] == tuple(str(number) for number in range(51, 250))


def test_after_the_end_nothing_is_taken() -> None:
    words = Words()
    words.close()
    words.line("late")
    words.progress(1, "")

    assert not words.unsent


class Line:
    """A messenger over a scripted store."""

    def __init__(self, *answers: Any) -> None:
        self.clock = Clock()
        self.answers = list(answers)
        self.calls: list[Sequence[Call[Any]]] = []
        self.running: list[Held] = []
        self.settled: list[Held] = []
        self.cancelled: list[Held] = []
        self.lost: list[Held] = []
        self.link = Link(self.clock)
        self.messenger = Messenger(
            store=self,
            running=lambda: self.running,
            settle=self.settled.append,
            cancelled=self.cancelled.append,
            lost=self.lost.append,
            link=self.link,
            meters=Meters(),
            beat=lambda: None,
            clock=self.clock,
        )

    async def run_many(self, calls: Sequence[Call[Any]], /) -> list[Any]:
        self.calls.append(calls)
        answer = self.answers.pop(0) if self.answers else Answer.OK
        if isinstance(answer, Exception):
            raise answer
        return [answer] * len(calls)

    def speaker(self, *lines: str) -> Held:
        job = held(self.clock)
        self.running.append(job)
        for line in lines:
            job.say_line(line)
        return job

    def end(self, job: Held) -> None:
        job.ended = True
        self.running.remove(job)
        self.messenger.finish(job)


async def test_what_is_said_is_told_at_most_once_a_second() -> None:
    line = Line()
    job = line.speaker("a")
    line.speaker()
    await line.messenger.run_once()
    job.say_line("b")
    await line.messenger.run_once()
    assert [list(calls[0].rest) for calls in line.calls] == [["a"]]

    line.clock.now += EVERY_S
    await line.messenger.run_once()

    assert [list(calls[0].rest) for calls in line.calls] == [["a"], ["b"]]


async def test_attempts_that_say_nothing_cost_no_call() -> None:
    line = Line()
    job = line.speaker()

    await line.messenger.run_once()

    assert line.calls == []
    assert job.words is None


async def test_last_words_are_told_at_once_and_then_the_attempt_is_settled() -> None:
    line = Line(StoreUnavailable("away"))
    await line.messenger.run_once()
    job = line.speaker("last")
    job.say_progress(100, "")
    line.end(job)

    with pytest.raises(StoreUnavailable):
        await line.messenger.run_once()
    assert line.settled == []
    assert line.messenger.unsettled == 1
    assert line.link.degraded
    await line.messenger.run_once()

    assert line.settled == [job]
    assert line.messenger.unsettled == 0
    assert [[list(call.rest) for call in calls] for calls in line.calls] == [[["last"], []]] * 2
    assert not line.link.degraded


async def test_what_was_said_after_an_unanswered_message_is_told_before_the_end_too() -> None:
    line = Line(StoreUnavailable("away"))
    job = line.speaker("a")
    with pytest.raises(StoreUnavailable):
        await line.messenger.run_once()
    job.say_line("b")
    line.end(job)

    await line.messenger.run_once()
    assert line.settled == []
    await line.messenger.run_once()

    assert line.settled == [job]
    assert [(dict(calls[0].args)["first"], list(calls[0].rest)) for calls in line.calls] == [
        (1, ["a"]),
        (1, ["a"]),
        (2, ["b"]),
    ]


async def test_the_answers_end_attempts_as_those_of_renewals_do() -> None:
    line = Line(Answer.CANCELLED, Answer.FENCED)
    job = line.speaker("a")
    await line.messenger.run_once()
    assert (line.cancelled, line.lost) == ([job], [])

    job.say_line("b")
    line.clock.now += EVERY_S
    await line.messenger.run_once()
    assert line.lost == [job]

    job.stop = Stop.FENCED
    job.say_line("c")
    line.clock.now += EVERY_S
    await line.messenger.run_once()
    assert len(line.calls) == 2


async def test_words_that_break_the_script_are_dropped_and_the_others_told() -> None:
    line = Line(ScriptFault("log failed"), ScriptFault("log failed"))
    bad, good = line.speaker("bad"), line.speaker("good")
    line.end(bad)
    line.end(good)

    with capture_logs() as logs:
        await line.messenger.run_once()

    assert line.settled == [bad, good]
    assert [(entry["event"], entry["job_id"]) for entry in logs] == [("words_refused", bad.claimed.id)]
