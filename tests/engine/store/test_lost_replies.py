"""Every call repeated because its reply was lost: nothing happens twice, and nothing is lost."""

from collections.abc import Awaitable, Callable

import pytest

from leaseforge import exchanges, operations, reads
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store.checks import layout_call
from tests.engine.store.lost_reply_scenarios import SCENARIOS as LATER_SCENARIOS
from tests.support.doors import Door, open_door
from tests.support.live_queue import LEASE_MS, LiveQueue
from tests.support.proxy import Proxy
from tests.support.sample_calls import PARTS, REPORT, sample_calls

Scenario = Callable[[Door, LiveQueue], Awaitable[None]]


async def enqueue(door: Door, line: LiveQueue) -> None:
    jobs = [new_job("work", queue=line.name, delay_ms=place % 2 * 60_000) for place in range(6)]

    stored = await door.run(operations.enqueue_many(jobs))

    assert [one.id for one in stored] == [job.id for job in jobs]
    assert {one.answer for one in stored} == {Answer.DUPLICATE}
    assert line.count("enqueued") == 6
    assert await door.run(reads.queue_names()) == [line.name]


async def enqueue_by_key(door: Door, line: LiveQueue) -> None:
    job = new_job("work", queue=line.name, idempotency_key="k")

    stored = await door.run(operations.enqueue(job))

    assert (stored.id, stored.answer) == (job.id, Answer.DUPLICATE)
    assert line.ready() == [job.id]


async def exchange(door: Door, line: LiveQueue) -> None:
    ids = line.add_many(6)
    claimed = line.claim(4)
    outcomes = (Outcome.COMPLETE, Outcome.FAIL, Outcome.RELEASE, Outcome.CANCELLED)
    settlements = [
        Settlement(job.id, job.token, outcome, result=b"out", error_kind="Broken", delay_ms=60_000)
        for job, outcome in zip(claimed, outcomes, strict=True)
    ]

    answer = await door.run(
        exchanges.exchange(line.name, run_id="w1", number=99, lease_ms=LEASE_MS, want=2, settlements=settlements)
    )

    assert answer.settled == (Answer.ALREADY_DONE,) * 4
    assert answer.status is Answer.ALREADY_DONE
    assert [job.id for job in answer.claimed] == [ids[2], ids[4]]
    assert [job.attempt for job in answer.claimed] == [2, 1]
    assert [line.job(job_id).failures for job_id in ids] == [0, 1, 0, 0, 0, 0]
    assert (line.count("claimed"), line.count("completed"), line.count("released")) == (6, 1, 1)


async def renew(door: Door, line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.expire(job_id)

    with line.unchanged(but_leases=True):
        held = [(job_id, claimed.token)]
        assert await door.run(exchanges.renew(line.name, lease_ms=LEASE_MS, held=held)) == (Answer.OK,)


async def tick(door: Door, line: LiveQueue) -> None:
    lost, completed = line.add_many(2)
    claimed = line.claim(2)
    line.settle(claimed[1], Outcome.COMPLETE)
    line.age("completed", [completed], 10 * 86_400_000)
    scheduled = line.add(delay_ms=60_000)
    line.make_due(scheduled)
    line.expire(lost)

    await door.run(exchanges.tick(line.name))

    assert line.job(lost).recoveries == 1
    assert line.ready() == [lost, scheduled]
    assert (line.count("recovered"), line.count("promoted"), line.count("trimmed")) == (1, 1, 1)


async def pause_and_resume(door: Door, line: LiveQueue) -> None:
    line.add()

    assert await door.run(operations.pause(line.name)) is Answer.ALREADY_DONE
    assert line.claim(1) == ()
    assert await door.run(operations.resume(line.name)) is Answer.ALREADY_DONE
    assert len(line.claim(1)) == 1


async def purge(door: Door, line: LiveQueue) -> None:
    line.add_many(250)
    info = await door.run(reads.queue(line.name))
    later = line.add()

    await door.run(operations.purge(line.name, sequence=info.sequence, as_of_ms=info.as_of_ms))

    assert line.ready() == [later]
    assert line.count("purged") == 250


async def retry(door: Door, line: LiveQueue) -> None:
    job_id = line.add()
    line.kill(job_id)

    assert await door.run(operations.retry(job_id, operation="op", payload=b"new")) is Answer.ALREADY_DONE

    job = line.job(job_id)
    assert (job.state, job.replays, job.payload) == (JobState.READY, 1, b"new")


async def delete(door: Door, line: LiveQueue) -> None:
    job_id = line.add()

    assert await door.run(operations.delete(job_id)) is Answer.ALREADY_DONE

    assert line.count("deleted") == 1


async def register_and_leave(door: Door, line: LiveQueue) -> None:
    assert (await door.run(exchanges.register_worker(REPORT))).consumers == {"line": 1, "other": 1}
    assert [worker.id for worker in (await door.run(reads.workers())).items] == ["w1"]
    await door.run(exchanges.deregister_worker("w1", REPORT.queues))
    assert (await door.run(reads.workers())).items == ()


async def check(door: Door, line: LiveQueue) -> None:
    await door.run(layout_call())
    assert line.raw.get("lf:{sys}:schema") == b"1"


SCENARIOS: dict[Scenario, set[str]] = {
    enqueue: {"register_queue", "enqueue"},
    enqueue_by_key: {"register_queue", "enqueue"},
    exchange: {"exchange"},
    renew: {"renew"},
    tick: {"tick"},
    pause_and_resume: {"pause", "resume"},
    purge: {"purge"},
    retry: {"retry"},
    delete: {"delete"},
    register_and_leave: {"register_worker", "deregister_worker"},
    check: {"schema"},
    **LATER_SCENARIOS,
}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_a_call_whose_reply_was_lost_is_safe_to_repeat(
    kind: str, scenario: Scenario, line: LiveQueue, proxy: Proxy
) -> None:
    for call in sample_calls().values():  # a lost NOSCRIPT would be no lost reply
        line.raw.script_load(call.script.text)
    door = open_door(kind, proxy.url(line.url))
    proxy.lose_first_replies = True

    await scenario(door, line)

    assert proxy.lost >= len(SCENARIOS[scenario])
    await door.aclose()


def test_every_script_that_writes_loses_its_reply_here() -> None:
    writing = {name for name, call in sample_calls().items() if call.script.header.flags != "no-writes"}

    assert set().union(*SCENARIOS.values()) == writing - PARTS


async def test_calls_sent_together_survive_the_loss_of_all_their_replies(
    kind: str, line: LiveQueue, proxy: Proxy
) -> None:
    line.add()
    claimed = line.claim_one()
    door = open_door(kind, proxy.url(line.url))
    proxy.lose_first_replies = True
    call = exchanges.exchange(
        line.name,
        run_id="w1",
        number=99,
        lease_ms=LEASE_MS,
        want=0,
        settlements=[Settlement(claimed.id, claimed.token, Outcome.FAIL, error_kind="Broken", delay_ms=60_000)],
    )

    await door.run_many([call, call, call])

    assert line.job(claimed.id).failures == 1
    assert proxy.lost >= 2
    await door.aclose()
