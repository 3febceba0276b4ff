"""A program that dies between two calls of an operation: nothing is hidden or lost, and it can be repeated."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from leaseforge import operations, outbox, reads
from leaseforge.calls import Call, Plan
from leaseforge.exchanges import Outcome
from leaseforge.requests import new_job
from leaseforge.store import connect_sync
from tests.support.live_queue import LiveQueue
from tests.support.references import audit_all

FIRST, SECOND, PARENT = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))


def die_after(line: LiveQueue, plan: Plan[Any], calls: int) -> bool:
    """Carries out so many calls of a plan and drops the rest; False if the plan had no more."""
    done = 0
    with closing(plan):
        try:
            step = next(plan)
            while done < calls:
                parts = [step] if isinstance(step, Call) else list(step.calls)  # type: ignore[union-attr]  # a batch
                answers = [line.run(replace(part, fresh_for_s=0.0)) for part in parts]
                done += 1
                step = plan.send(answers[0] if isinstance(step, Call) else answers)
        except StopIteration:
            return False
    return True


def deaths(line: LiveQueue, arrange: Callable[[], None], plan: Callable[[], Plan[Any]]) -> Iterator[int]:
    """Lets a plan die after each of its calls in turn, each time in a store arranged anew."""
    calls = 0
    while True:
        line.raw.flushdb()
        arrange()
        if not die_after(line, plan(), calls):
            return
        yield calls
        calls += 1


def known_and_used(line: LiveQueue) -> tuple[set[str], set[str]]:
    """The queues that are listed, and those that hold a key."""
    used = {key.decode().split("}")[0][4:] for key in line.raw.scan_iter("lf:{*}:job:*")}
    return set(line.run(reads.queue_names())), used


def test_no_job_is_stored_in_a_queue_that_nobody_knows(line: LiveQueue) -> None:
    jobs = [new_job("work", id=FIRST, queue="a"), new_job("work", id=SECOND, queue="b")]

    seen = 0
    for _ in deaths(line, lambda: None, lambda: operations.enqueue_many(jobs)):
        known, used = known_and_used(line)
        assert used <= known
        with connect_sync(line.url) as another:
            again = another.run(operations.enqueue_many(jobs))
        assert [one.id for one in again] == [FIRST, SECOND]
        for queue in ("a", "b"):
            assert audit_all(line.raw, queue).counts["enqueued"] == 1
        seen += 1

    assert seen >= 4


def test_a_forwarder_that_dies_loses_and_doubles_nothing(line: LiveQueue) -> None:
    def arrange() -> None:
        line.add(id=PARENT)
        jobs = (new_job("next", id=FIRST, queue="a"), new_job("next", id=SECOND, queue="b"))
        line.settle(line.claim_one(), Outcome.COMPLETE, follow_ups=jobs)

    for _ in deaths(line, arrange, lambda: outbox.forward("line")):
        known, used = known_and_used(line)
        assert used <= known
        line.run(outbox.forward("line"))
        for queue in ("a", "b"):
            assert audit_all(line.raw, queue).counts["enqueued"] == 1
        assert not line.raw.exists(line.key("outbox"))
        assert line.count("forwarded") == 2


@pytest.mark.parametrize("verb", ["retry", "requeue", "delete", "cancel"])
def test_an_operator_s_action_that_died_can_be_repeated(line: LiveQueue, verb: str) -> None:
    plans: dict[str, Callable[[], Plan[Any]]] = {
        "retry": lambda: operations.retry(FIRST, operation="op"),
        "requeue": lambda: operations.requeue(FIRST, operation="op"),
        "delete": lambda: operations.delete(FIRST),
        "cancel": lambda: operations.cancel(SECOND, operation="op"),
    }

    def arrange() -> None:
        line.add(id=FIRST)
        line.kill(FIRST)
        line.add(id=SECOND)

    for _ in deaths(line, arrange, plans[verb]):
        assert line.run(plans[verb]()) == "ok"
        audit_all(line.raw, line.name)
