"""What operators, running jobs and servers send, each with a check that a repeat changed nothing more."""

from collections.abc import Awaitable, Callable

from leaseforge import attempts, exchanges, operations, outbox, reads, statistics
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.statistics import Step
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


SCENARIOS: dict[Callable[[Door, LiveQueue], Awaitable[None]], set[str]] = {
    requeue: {"requeue"},
    cancel: {"cancel"},
    configure: {"configure"},
    speak: {"progress", "log"},
    forward: {"register_queue", "enqueue", "forwarded"},
    add_up: {"lead", "roll", "add_stats"},
    command: {"command_worker"},
}
