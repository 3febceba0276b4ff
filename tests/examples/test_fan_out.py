"""The fan-out example: the jobs it asks for run, each in its queue."""

from examples.fan_out import note_sent, send_statement, send_statements
from leaseforge import JobState, new_job, reads
from leaseforge.store import Store
from tests.worker.workers import a_worker, all_ended, ended, enqueue, until


async def test_one_job_becomes_a_statement_for_each_account(store: Store, redis_url: str) -> None:
    payload = {"month": "2026-05", "accounts": ["ada", "grace", "hedy"]}

    async with a_worker(redis_url, send_statements, send_statement, note_sent, queues="reports,mail"):
        [asked] = await enqueue(store, new_job("send_statements", payload, queue="reports"))
        parent = await ended(store, asked)
        await until(lambda: knows(store, "mail"))
        assert await all_ended(store, 3, queue="mail") == {"completed": 3}
        assert await all_ended(store, 2, queue="reports") == {"completed": 2}

    assert parent.result == b"3"
    assert parent.progress is not None
    assert (parent.progress.percent, parent.progress.note) == (100, "hedy")
    assert [line.text for line in await store.run(reads.log("reports", asked))] == ["3 statements for 2026-05"]
    mails = (await store.run(reads.jobs("mail", JobState.COMPLETED))).items
    assert {job.type for job in mails} == {"send_statement"}


async def knows(store: Store, queue: str) -> bool:
    return queue in await store.run(reads.queue_names())
