"""Scripts are sent when the server does not know them, whatever made it forget."""

import threading

from leaseforge import exchanges, operations, reads
from leaseforge.requests import new_job
from tests.support.doors import Door
from tests.support.live_queue import LEASE_MS, LiveQueue


async def test_a_flush_between_calls_is_not_noticed(door: Door, line: LiveQueue) -> None:
    for number in range(3):
        line.raw.script_flush()
        await door.run(operations.enqueue(new_job("work", queue=line.name)))
        line.raw.script_flush()
        answer = await door.run(exchanges.exchange(line.name, run_id="w1", number=number, lease_ms=LEASE_MS, want=1))
        assert len(answer.claimed) == 1


async def test_calls_sent_together_may_all_be_unknown_or_some(door: Door, line: LiveQueue) -> None:
    ids = line.add_many(3)
    look_ups = [reads.job_call(line.name, job_id) for job_id in ids]
    line.raw.script_flush()

    assert [job and job.id for job in await door.run_many(look_ups)] == ids

    line.raw.script_flush()
    line.raw.script_load(look_ups[0].script.text)
    mixed = [look_ups[0], next(operations.pause(line.name)), look_ups[1]]
    answers = await door.run_many(mixed)  # type: ignore[arg-type]  # calls of two kinds on purpose
    assert [getattr(answers[0], "id", None), str(answers[1]), getattr(answers[2], "id", None)] == [ids[0], "ok", ids[1]]


async def test_flushes_in_the_middle_of_everything_lose_and_double_nothing(door: Door, line: LiveQueue) -> None:
    stop = threading.Event()

    def flush() -> None:
        with LiveQueue(line.url) as other:
            while not stop.wait(0.002):
                other.raw.script_flush()

    flushing = threading.Thread(target=flush)
    flushing.start()
    try:
        calls = [next(operations.enqueue(new_job("work", queue=line.name))) for _ in range(20)]
        await door.run_many(calls)  # type: ignore[arg-type]
        for number in range(20):
            await door.run(operations.enqueue_many([new_job("work", queue=line.name) for _ in range(5)]))
            await door.run(exchanges.exchange(line.name, run_id="w1", number=number, lease_ms=LEASE_MS, want=4))
    finally:
        stop.set()
        flushing.join()

    assert line.count("enqueued") == 100
    assert line.count("claimed") == 80
    assert len(line.ready()) == 20


async def test_more_calls_than_one_pipeline_takes_answer_in_order(door: Door, line: LiveQueue) -> None:
    ids = line.add_many(250)

    found = await door.run_many([reads.job_call(line.name, job_id) for job_id in ids])

    assert [job and job.id for job in found] == ids
    assert await door.run_many([]) == []
