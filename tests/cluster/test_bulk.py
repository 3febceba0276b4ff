"""A bulk operation over queues on different nodes of a cluster."""

import time

from leaseforge import bulk, bulk_calls, bulk_work, operations, reads, statistics
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import connect_sync
from tests.support.bulk_steps import order
from tests.support.cluster import OwnCluster
from tests.support.references import audit_all

QUEUES = ("flow", "flow.next")


def test_each_queues_part_lies_with_the_queue(cluster: OwnCluster) -> None:
    assert cluster.owner(QUEUES[0]) is not cluster.owner(QUEUES[1])
    with connect_sync(cluster.url) as store:
        jobs = [new_job("work", {}, queue=queue, delay_ms=600_000) for queue in QUEUES for _ in range(120)]
        store.run(operations.enqueue_many(jobs))
        time.sleep(0.01)  # nodes have clocks of their own: what they stored must be older than the moment
        term = store.run(statistics.lead(bulk_calls.OFFICE, holder="one", ttl_ms=60_000))
        made = store.run(bulk.create("0" * 32, order("promote", {"state": JobState.SCHEDULED})))
        work = store.run(bulk_work.take_up(made))
        while store.run(bulk_work.collect(work, term=term, most=1000)) != bulk_work.OVER:
            pass
        assert work.counts().total == 240
        assert len(store.run(bulk_work.sample(work))) == 20
        store.run(bulk_calls.note(made.id, {}, term=term, before="collecting", after="ready"))
        work.operation = store.run(bulk.run(made.id, user="ada"))
        while (queue := work.next_to_act_on()) is not None:
            assert store.run(bulk_work.act(work, queue, term=term, limit=100))[0] == "ok"

        assert work.counts().done == 240
        assert {store.run(reads.job(job.id)).state for job in jobs[::40]} == {JobState.READY}
        store.run(bulk_work.drop(work))
    for queue in QUEUES:
        audit_all(cluster.owner(queue).client, queue)
