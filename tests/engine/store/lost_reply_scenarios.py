"""What operators, running jobs and servers send, each with a check that a repeat changed nothing more."""

from collections.abc import Awaitable, Callable
from typing import Any

from leaseforge import attempts, bulk, bulk_calls, bulk_work, exchanges, forms, operations, outbox, reads, statistics
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.statistics import Step
from tests.support.bulk_steps import order
from tests.support.doors import Door
from tests.support.live_queue import LiveQueue
from tests.support.sample_calls import REPORT


async def requeue(door: Door, line: LiveQueue) -> None:
    job_id = line.add()
    line.settle(line.claim_one(), Outcome.COMPLETE)

    assert await door.run(operations.requeue(job_id, operation="op")) is Answer.ALREADY_DONE

    assert (line.job(job_id).state, line.job(job_id).replays) == (JobState.READY, 1)


async def cancel(door: Door, line: LiveQueue) -> None:
    job_id = line.add()

    assert await door.run(operations.cancel(job_id, operation="op")) is Answer.ALREADY_DONE

    assert (line.state(job_id), line.count("cancelled")) == (JobState.CANCELLED, 1)


async def configure(door: Door, line: LiveQueue) -> None:
    line.add()

    assert await door.run(operations.configure(line.name, {"max_running": 3})) is Answer.OK

    assert (await door.run(reads.queue(line.name))).limits.max_running == 3


async def speak(door: Door, line: LiveQueue) -> None:
    job_id = line.add()
    token = line.claim_one().token

    assert await door.run(attempts.progress(line.name, job_id, token, percent=7, note="on")) is Answer.OK
    assert await door.run(attempts.log(line.name, job_id, token, first=1, lines=["one", "two"])) is Answer.OK

    assert [text.text for text in await door.run(reads.log(line.name, job_id))] == ["one", "two"]


async def forward(door: Door, line: LiveQueue) -> None:
    line.add()
    there = new_job("next", queue="elsewhere")
    line.settle(line.claim_one(), Outcome.COMPLETE, follow_ups=(there,))

    await door.run(outbox.forward(line.name))

    assert (await door.run(outbox.forward(line.name))).left == 0
    assert (await door.run(reads.job(there.id))).state is JobState.READY
    assert line.count("forwarded") == 1


async def add_up(door: Door, line: LiveQueue) -> None:
    line.add()

    assert await door.run(statistics.add_up(holder="one"))

    series = await door.run(statistics.throughput(seconds=7200, step=Step.TEN_SECONDS))
    assert sum(point.enqueued for point in series.points) == 1


async def command(door: Door, line: LiveQueue) -> None:
    await door.run(exchanges.register_worker(REPORT))

    assert await door.run(operations.command_worker("w1", "quiet"))


async def bulk_operations(door: Door, line: LiveQueue) -> None:
    ids = line.add_many(4)
    for claimed in line.claim(4):
        line.settle(claimed, Outcome.FAIL, error_kind="Broken", permanent="told_so")
    term = await door.run(statistics.lead(bulk_calls.OFFICE, holder="one", ttl_ms=60_000))
    filters: list[dict[str, Any]] = [{"ids": tuple(ids[:2])}, {"queue": line.name}]
    for number, wanted in enumerate(filters):
        asked = order("retry", wanted, stop_at_failure_rate=0.5)
        made = await door.run(bulk.create(f"{number:032x}", asked))
        work = await door.run(bulk_work.take_up(made))
        while await door.run(bulk_work.collect(work, term=term, most=100)) != bulk_work.OVER:
            pass
        assert work.counts().total == 2
        found = {"queues": f'["{line.name}"]'}
        ready = bulk_calls.note(made.id, found, term=term, before="collecting", after="ready")
        assert (await door.run(ready))[1] == "ready"
        work.operation = await door.run(bulk.run(made.id, user="ada"))
        assert work.operation.run == 1

        assert (await door.run(bulk_work.act(work, line.name, term=term, limit=3)))[1] == 2
        await door.run(bulk_work.judge(work))

        assert (await door.run(bulk.pause(made.id, user="ada"))).counts.done == 2
        await door.run(bulk_work.drop(work))
    assert [line.job(job_id).replays for job_id in ids] == [1, 1, 1, 1]


async def promote_job(door: Door, line: LiveQueue) -> None:
    job_id = line.add(delay_ms=60_000)

    assert await door.run(operations.promote(job_id, operation="op")) is Answer.ALREADY_DONE

    assert line.ready() == [job_id]


async def purge_dead(door: Door, line: LiveQueue) -> None:
    job_id = line.add()
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", permanent="told_so")

    assert (await door.run(operations.purge_dead(line.name, before_ms=line.now_ms() + 1))).removed == 0

    assert not line.raw.exists(line.record_key(job_id))


async def publish_forms(door: Door, line: LiveQueue) -> None:
    assert await door.run(forms.publish({"told": b'{"type":"string"}', "silent": b""})) == 1

    assert await door.run(forms.form_of("told")) == b'{"type":"string"}'
    assert await door.run(forms.form_of("silent")) is None


SCENARIOS: dict[Callable[[Door, LiveQueue], Awaitable[None]], set[str]] = {
    requeue: {"requeue"},
    cancel: {"cancel"},
    configure: {"configure"},
    speak: {"progress", "log"},
    forward: {"register_queue", "enqueue", "forwarded"},
    add_up: {"lead", "roll", "add_stats"},
    command: {"command_worker"},
    promote_job: {"promote_job"},
    purge_dead: {"purge_dead"},
    publish_forms: {"publish_forms"},
    bulk_operations: {
        "bulk_create",
        "bulk_collect",
        "bulk_pick",
        "bulk_note",
        "bulk_steer",
        "bulk_act",
        "bulk_judge",
        "bulk_halt",
        "bulk_drop",
    },
}
