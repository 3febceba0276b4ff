"""One queue's exchange: when it leaves, what it carries, what becomes of lost replies and faults."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from leaseforge.answers import Answer
from leaseforge.errors import ScriptFault, StoreUnavailable
from leaseforge.exchanges import Outcome, Settlement, Ticked, tick
from leaseforge.jobs import JobState, NewJob
from leaseforge.requests import new_job
from leaseforge_worker import exchange as exchange_module
from leaseforge_worker.exchange import QueueExchange
from leaseforge_worker.held import Held, HeldJobs
from leaseforge_worker.intake import Intake
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.pool import Pool
from leaseforge_worker.queues import QueueChoice, Turns
from tests.support.waiting import eventually
from tests.worker.builders import Clock, ScriptedStore, claimed, exchanged

SWEPT = Ticked(0, 0, 0, 0, None, False)
COMPLETED = [JobState.COMPLETED]
WORDS = 6
"""What a settlement takes in a call's arguments."""


class Desk:
    """An exchange over a scripted store, with a pool whose attempts a test ends by hand."""

    def __init__(self, *answers: Any, slots: int = 2, queue: str = "default") -> None:
        self.clock = Clock()
        self.store = ScriptedStore(*answers)
        self.held = HeldJobs()
        self.meters = Meters()
        self.link = Link(self.clock)
        self.started: list[Held] = []
        self.forwarded: list[str] = []
        self.pool = Pool(
            slots=slots,
            batch=200,
            held=self.held,
            start=self.started.append,
            refresh=lambda: None,
            give_back=self._refuse,
            clock=self.clock,
        )
        self.intake = Intake(self.pool, Turns(QueueChoice((queue,))))
        self.exchange = QueueExchange(
            queue,
            run_id="run",
            lease_ms=10_000,
            store=self.store,
            pool=self.pool,
            intake=self.intake,
            held=self.held,
            link=self.link,
            meters=self.meters,
            forward=self.forwarded.append,
            clock=self.clock,
        )
        self.intake.add(self.exchange)

    def _refuse(self, jobs: Sequence[Held]) -> None:
        raise AssertionError(f"{len(jobs)} jobs given back")

    def end(self, one: Held, *, result: bytes = b"", follow_ups: tuple[NewJob, ...] = ()) -> None:
        """The attempt ended well."""
        one.ended = True
        one.settlement = Settlement(one.claimed.id, one.claimed.token, Outcome.COMPLETE, result, follow_ups=follow_ups)
        self.pool.ended(one)
        self.exchange.settle(one)
        if self.pool.has_free_slot():
            self.intake.feed()

    def settled_ids(self, index: int) -> list[Any]:
        return list(self.store.calls[index].rest[::WORDS])


@pytest.fixture
async def desk() -> AsyncIterator[Callable[..., Desk]]:
    desks: list[Desk] = []
    tasks: list[asyncio.Task[None]] = []

    def make(*answers: Any, running: bool = True, **options: Any) -> Desk:
        desks.append(Desk(*answers, **options))
        if running:
            tasks.append(asyncio.create_task(desks[-1].exchange.run()))
        return desks[-1]

    yield make
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for one in desks:
        one.pool.close()
        one.exchange.close()


async def test_a_new_queue_is_claimed_from_at_once_for_the_free_slots(desk: Callable[..., Desk]) -> None:
    job = claimed()
    made = desk(exchanged(job))

    await eventually(lambda: made.started)

    assert made.store.arguments(0) == {"run_id": "run", "number": 1, "lease_ms": 10_000, "want": 2}
    assert made.started[0].claimed is job
    assert made.meters.claimed == 1


async def test_a_queue_is_swept_once_before_the_first_claim_from_it(desk: Callable[..., Desk]) -> None:
    made = desk(StoreUnavailable("away"), SWEPT, exchanged(claimed()), running=False)
    made.exchange._first_sweep = tick("default")
    task = asyncio.create_task(made.exchange.run())
    await eventually(lambda: made.started)
    task.cancel()

    assert [call.script.name for call in made.store.calls] == ["tick", "tick", "exchange"]


async def test_a_queue_that_cannot_be_swept_is_claimed_from_all_the_same(desk: Callable[..., Desk]) -> None:
    made = desk(ScriptFault("WRONGTYPE"), exchanged(claimed()), running=False)
    made.exchange._first_sweep = tick("default")
    task = asyncio.create_task(made.exchange.run())
    await eventually(lambda: made.started)
    task.cancel()

    assert [call.script.name for call in made.store.calls] == ["tick", "exchange"]


async def test_an_empty_claim_lets_the_worker_wait_and_asks_no_more(desk: Callable[..., Desk]) -> None:
    made = desk(exchanged())

    await asyncio.wait_for(made.intake.idle.wait(), 5)

    assert len(made.store.calls) == 1


async def test_a_lone_job_is_settled_at_once_and_the_same_trip_claims(desk: Callable[..., Desk]) -> None:
    made = desk(exchanged(claimed()), exchanged(states=COMPLETED))
    await eventually(lambda: made.started)

    made.end(made.started[0])
    await eventually(lambda: len(made.store.calls) == 2 and not len(made.held))

    assert made.store.arguments(1)["want"] == 2
    assert made.store.arguments(1)["number"] == 2
    assert made.settled_ids(1) == [made.started[0].claimed.id]
    assert made.meters.settled == {"completed": 1}


async def test_what_ends_while_an_exchange_is_under_way_goes_with_the_next(desk: Callable[..., Desk]) -> None:
    made = desk(
        exchanged(*[claimed() for _ in range(4)]), exchanged(states=COMPLETED), exchanged(states=COMPLETED * 3), slots=4
    )
    await eventually(lambda: len(made.started) == 4)

    made.store.gate.clear()
    made.end(made.started[0])
    await eventually(lambda: len(made.store.calls) == 2)
    for one in made.started[1:]:
        made.end(one)
    made.store.gate.set()
    await eventually(lambda: not len(made.held))

    assert made.settled_ids(2) == [one.claimed.id for one in made.started[1:]]
    assert made.exchange.unsettled == 0


async def test_a_wake_token_leads_to_a_claim(desk: Callable[..., Desk]) -> None:
    made = desk(exchanged(), exchanged(claimed()))
    await asyncio.wait_for(made.intake.idle.wait(), 5)

    made.exchange.woken()
    await eventually(lambda: made.started)

    assert made.store.arguments(1)["want"] == 2


async def test_a_wake_token_without_a_free_slot_is_passed_on_by_claiming_nothing(desk: Callable[..., Desk]) -> None:
    made = desk(exchanged(claimed(), claimed()), exchanged(more=True))
    await eventually(lambda: len(made.started) == 2)

    made.exchange.woken()
    await eventually(lambda: len(made.store.calls) == 2 and not made.exchange.has_token)

    assert made.store.arguments(1)["want"] == 0


async def test_a_paused_queue_is_not_asked_again_until_it_wakes(desk: Callable[..., Desk]) -> None:
    made = desk(exchanged(status=Answer.PAUSED, more=True))

    await asyncio.wait_for(made.intake.idle.wait(), 5)

    assert len(made.store.calls) == 1


async def test_a_rate_limited_queue_is_asked_again_after_its_wait(desk: Callable[..., Desk]) -> None:
    made = desk(exchanged(wait_ms=5, more=True), exchanged(claimed()))

    await eventually(lambda: made.started)

    assert len(made.store.calls) == 2


async def test_a_settlement_that_hears_of_the_rate_too_leaves_one_timer(desk: Callable[..., Desk]) -> None:
    made = desk(exchanged(claimed(), wait_ms=60_000), exchanged(states=COMPLETED, wait_ms=5), exchanged())
    await eventually(lambda: made.started)

    made.end(made.started[0])
    await eventually(lambda: len(made.store.calls) == 3)
    await asyncio.wait_for(made.intake.idle.wait(), 5)

    assert made.exchange._wait is None


async def test_an_unanswered_exchange_is_sent_again_with_its_number_and_its_claim_adopted(
    desk: Callable[..., Desk],
) -> None:
    job = claimed()
    made = desk(
        exchanged(claimed()),
        StoreUnavailable("reply lost"),
        exchanged(job, states=COMPLETED, status=Answer.ALREADY_DONE),
    )
    await eventually(lambda: made.started)

    made.end(made.started[0])
    await eventually(lambda: len(made.started) == 2)

    assert made.store.calls[1] is made.store.calls[2]
    assert made.store.arguments(2)["number"] == 2
    assert made.started[1].claimed is job
    assert not made.link.degraded


async def test_the_worker_is_degraded_while_nothing_is_answered_and_pauses_between_tries(
    desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await real_sleep(0)

    made = desk(*[StoreUnavailable("away")] * 8, exchanged(), running=False)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    task = asyncio.create_task(made.exchange.run())
    while made.store.answers:
        await real_sleep(0)
        if made.pool.reserved and len(pauses) > 3:
            assert made.link.degraded
    monkeypatch.undo()
    await eventually(lambda: not made.link.degraded)
    task.cancel()

    assert len(pauses) == 8
    assert 0.02 < pauses[0] < pauses[-1] <= exchange_module.LONGEST_PAUSE_S
    assert made.pool.reserved == 0


async def test_an_answer_applied_twice_starts_nothing_twice(desk: Callable[..., Desk]) -> None:
    made = desk(running=False)
    job = claimed()
    pending = made.exchange._compose()
    assert pending is not None

    made.exchange._take(pending, exchanged(job), made.clock())
    made.exchange._take(pending, exchanged(job, status=Answer.ALREADY_DONE), made.clock())

    assert [one.claimed for one in made.started] == [job]
    assert made.pool.reserved == 0


async def test_each_settlement_has_its_own_answer(desk: Callable[..., Desk]) -> None:
    jobs = [claimed() for _ in range(3)]
    answer = exchanged(
        states=[JobState.COMPLETED, None, None],  # type: ignore[list-item] # refused ones have no state
        settled=[Answer.OK, Answer.FENCED, Answer.ALREADY_DONE],
    )
    made = desk(exchanged(*jobs), answer, slots=3)
    await eventually(lambda: len(made.started) == 3)

    for one in made.started:
        made.end(one)
    await eventually(lambda: not len(made.held))

    assert made.meters.settled == {"completed": 1}
    assert made.meters.fenced == 1


async def test_more_than_a_call_can_carry_is_settled_in_several(desk: Callable[..., Desk]) -> None:
    jobs = [claimed() for _ in range(450)]
    made = desk(
        exchanged(*jobs[:200], more=True),
        exchanged(*jobs[200:400], more=True),
        exchanged(*jobs[400:]),
        exchanged(states=COMPLETED * 200),
        exchanged(states=COMPLETED * 200),
        exchanged(states=COMPLETED * 50),
        slots=450,
    )
    await eventually(lambda: len(made.started) == 450)

    for one in list(made.started):
        made.end(one)
    await eventually(lambda: made.exchange.unsettled == 0)

    assert [len(call.rest) // WORDS for call in made.store.calls[3:]] == [200, 200, 50]


async def test_large_results_are_spread_over_several_exchanges(desk: Callable[..., Desk]) -> None:
    made = desk(
        exchanged(*[claimed() for _ in range(40)]),
        *[lambda call: exchanged(states=COMPLETED * (len(call.rest) // WORDS))] * 3,
        slots=40,
    )
    await eventually(lambda: len(made.started) == 40)

    made.store.gate.clear()
    for one in list(made.started):
        made.end(one, result=b"x" * 256 * 1024)
    made.store.gate.set()
    await eventually(lambda: not len(made.held))

    assert [len(call.rest) // WORDS for call in made.store.calls[1:]] == [16, 16, 8]


@pytest.mark.parametrize(("count", "size"), [(80, 1), (5, 1024 * 256)])
async def test_follow_ups_are_spread_over_several_exchanges(desk: Callable[..., Desk], count: int, size: int) -> None:
    made = desk(
        exchanged(*[claimed() for _ in range(6)]),
        *[lambda call: exchanged(states=COMPLETED * (len(call.rest) // WORDS))] * 4,
        slots=6,
    )
    await eventually(lambda: len(made.started) == 6)

    made.store.gate.clear()
    for one in list(made.started):
        made.end(one, follow_ups=tuple(new_job("next", b"x" * size) for _ in range(count)))
    made.store.gate.set()
    await eventually(lambda: not len(made.held))

    carried = [len(call.rest) // WORDS for call in made.store.calls[1:]]
    assert sum(carried) == 6
    assert max(carried) * count <= 200
    assert max(carried) * count * size <= 4 * 1024 * 1024
    assert len(carried) <= 3
    assert made.forwarded == []


@pytest.mark.parametrize("answer", [Answer.OK, Answer.ALREADY_DONE, Answer.FENCED])
async def test_follow_ups_for_another_queue_are_forwarded_once_their_parent_is_settled(
    desk: Callable[..., Desk], answer: Answer
) -> None:
    state = JobState.COMPLETED if answer is Answer.OK else None
    made = desk(exchanged(claimed()), exchanged(states=[state], settled=[answer]))  # type: ignore[list-item]
    await eventually(lambda: made.started)

    made.end(made.started[0], follow_ups=(new_job("next"), new_job("next", queue="other")))
    await eventually(lambda: not len(made.held))

    assert made.forwarded == ([] if answer is Answer.FENCED else ["default"])


async def test_a_settlement_that_breaks_the_script_is_found_and_dropped_and_the_others_settle(
    desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange_module, "LONGEST_PAUSE_S", 0.001)
    jobs = [claimed() for _ in range(3)]

    def answer(call: Any) -> Any:
        ids = call.rest[::WORDS]
        if jobs[1].id in ids:
            raise ScriptFault("settle failed")
        return exchanged(states=COMPLETED * len(ids))

    made = desk(exchanged(*jobs), *[answer] * 40, slots=3)
    made.exchange._pauses._longest_s = 0.001
    await eventually(lambda: len(made.started) == 3)

    for one in list(made.started):
        made.end(one)
    await eventually(lambda: not len(made.held))

    assert made.meters.settled == {"completed": 2}
    assert made.exchange.unsettled == 0
    assert made.pool.reserved == 0


async def test_a_queue_that_gets_no_answer_does_not_hold_up_the_others(desk: Callable[..., Desk]) -> None:
    first = desk(StoreUnavailable("shard away"), exchanged(claimed(queue="a")), running=False, queue="a")
    first.intake._turns = Turns(QueueChoice(("a", "b")))
    second = QueueExchange(
        "b",
        run_id="run",
        lease_ms=10_000,
        store=ScriptedStore(exchanged(claimed(queue="b"))),
        pool=first.pool,
        intake=first.intake,
        held=first.held,
        link=first.link,
        meters=first.meters,
        forward=first.forwarded.append,
        clock=first.clock,
    )
    first.intake.add(second)

    with pytest.raises(StoreUnavailable):
        await first.exchange.run_once()
    await second.run_once()
    await first.exchange.run_once()

    assert [one.claimed.queue for one in first.started] == ["b", "a"]
    assert first.store.calls[0] is first.store.calls[1]
    assert first.pool.reserved == 0


async def test_strict_order_claims_from_a_later_queue_only_when_the_earlier_is_known_empty(
    desk: Callable[..., Desk],
) -> None:
    first = desk(exchanged(), running=False, queue="a")
    first.intake._turns = Turns(QueueChoice(("a", "b")))
    second_store = ScriptedStore(exchanged(claimed(queue="b")))
    second = QueueExchange(
        "b",
        run_id="run",
        lease_ms=10_000,
        store=second_store,
        pool=first.pool,
        intake=first.intake,
        held=first.held,
        link=first.link,
        meters=first.meters,
        forward=first.forwarded.append,
        clock=first.clock,
    )
    first.intake.add(second)
    task = asyncio.create_task(second.run())
    for _ in range(5):
        await asyncio.sleep(0)
    assert second_store.calls == []

    await first.exchange.run_once()
    await eventually(lambda: first.started)

    assert dict(second_store.calls[0].args)["want"] == 2
    task.cancel()
