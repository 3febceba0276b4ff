"""More callers than connections, who give up at random: each hears its own answer, and no connection is lost."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable

import pytest

from leaseforge import operations, reads
from leaseforge.errors import InvalidTransition, JobNotFound
from leaseforge.requests import new_job
from leaseforge.store import Store, connect
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced
from tests.faults.servers import FaultyServer
from tests.faults.workers import Crew
from tests.support.processes import Process
from tests.support.waiting import eventually
from tests.worker.workers import counts

CALLERS = 50
CONNECTIONS = 2
ROUNDS = 8


async def test_callers_who_give_up_mix_up_no_answers_and_leave_no_connection_behind(
    faulty_server: Callable[..., FaultyServer],
    processes: Callable[..., Process],
    ledger: Ledger,
    produced: Produced,
    chance: random.Random,
) -> None:
    server = faulty_server(fsync="no")
    with server.client() as client:
        client.acl_setuser("crowded", enabled=True, passwords="+secret", keys=["*"], categories=["+@all"])
    workers = Crew(processes, server.url, ledger).workers(2, lease_s=5.0)
    crowded = connect(server.url.replace("//", "//crowded:secret@"), connections=CONNECTIONS)
    outcomes: Counter[str] = Counter()
    for number in range(ROUNDS):
        callers = [
            asyncio.create_task(_work_and_look(crowded, produced, f"{number}-{each}")) for each in range(CALLERS)
        ]
        for caller in chance.sample(callers, CALLERS // 2):
            await asyncio.sleep(chance.choice((0, 0, 0.001, 0.003)))
            caller.cancel()
        for ended in await asyncio.gather(*callers, return_exceptions=True):
            outcomes[type(ended).__name__] += 1
        # As many may be kept in hand as were in use at a time, beside those of the pool.
        assert len(_connections(server)) <= 2 * CONNECTIONS + 1

    assert outcomes.keys() == {"NoneType", "CancelledError"}, outcomes
    heard = await asyncio.gather(*(_work_and_look(crowded, produced, f"last-{each}") for each in range(CALLERS)))
    assert heard == [None] * CALLERS
    await crowded.aclose()
    await eventually(lambda: not _connections(server))

    async with connect(server.url) as store:
        await eventually(lambda: _is_quiet(store))
    for worker in workers:
        worker.end()
    audit(server.url, ledger, produced)


async def _work_and_look(store: Store, produced: Produced, mark: str) -> None:
    """Everything a program may ask, with answers that can be told from every other caller's."""
    job = new_job("work", {"ms": 1}, tags=[mark])
    produced.unknown.add(job.id)
    stored = await store.run(operations.enqueue(job))
    assert stored.id == job.id
    produced.unknown.discard(job.id)
    produced.acknowledged.add(job.id)
    seen = await store.run(reads.job(job.id))
    assert (seen.id, seen.tags) == (job.id, (mark,))
    refused = job.id
    try:
        await store.run(operations.cancel(job.id, operation=mark))
    except InvalidTransition as ended:
        refused = ended.job_id
    assert refused == job.id
    missing = f"00000000-0000-4000-8000-{abs(hash(mark)) % 10**12:012d}"
    with pytest.raises(JobNotFound) as unknown:
        await store.run(operations.retry(missing, operation=mark))
    assert unknown.value.job_id == missing
    found = await store.run_many([reads.job_call("default", job.id), reads.job_call("default", missing)])
    assert [one and one.id for one in found] == [job.id, None]


def _connections(server: FaultyServer) -> list[dict[str, str]]:
    """The server's view of what the crowded store has open."""
    with server.client() as client:
        return [one for one in client.client_list() if one["user"] == "crowded"]


async def _is_quiet(store: Store) -> bool:
    now = await counts(store)
    return not {"ready", "running", "scheduled", "retrying"} & now.keys()
