"""Two operators who act on the same jobs at the same moment, through two server processes.

Whatever each of them is told is what then was, nothing is done twice, and the audit trail says the same.
"""

import asyncio
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from leaseforge import operations, reads
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store, connect
from leaseforge_auth import calls
from leaseforge_auth.audit.calls import read_on
from leaseforge_auth.audit.entries import Entry, Result, Step, decode
from leaseforge_auth.roles import Role
from tests.api.conftest import PASSWORD, PASSWORD_HASH, SECRET
from tests.api.support import claim_job, kill_job, settle
from tests.support import OwnServer, Process, eventually, free_port

QUEUE = "default"
JOBS = 12
OPERATORS = ("ada", "bob")


@dataclass(frozen=True, slots=True)
class Told:
    """What an operator was answered."""

    verb: str
    job_id: str
    user: str
    status: int
    audit: str
    removed: int


@dataclass(frozen=True, slots=True)
class Operator:
    """A person with a token, and a server of their own."""

    name: str
    client: httpx.AsyncClient

    async def does(self, verb: str, job_id: str = "") -> Told:
        """One action on a job, or on all of the queue."""
        paths = {
            "delete": ("DELETE", f"/api/jobs/{job_id}"),
            "promote": ("POST", f"/api/delayed/{job_id}/promote"),
            "purge": ("POST", f"/api/queues/{QUEUE}/purge"),
            "purge_dead": ("POST", f"/api/dlq/purge?queue={QUEUE}"),
        }
        answer = await self.client.request(*paths.get(verb, ("POST", f"/api/jobs/{job_id}/{verb}")))
        removed = answer.json()["removed"] if verb.startswith("purge") and answer.status_code == 200 else 0
        return Told(verb, job_id, self.name, answer.status_code, answer.headers["x-audit-id"], removed)


@dataclass(frozen=True, slots=True)
class Pair:
    """Both of them, and the store their servers share."""

    operators: tuple[Operator, ...]
    store: Store

    async def both(self, verb: str, *job_ids: str) -> list[Told]:
        """Each does the same to all the jobs, all at once."""
        return await asyncio.gather(*(one.does(verb, job_id) for job_id in job_ids or ("",) for one in self.operators))

    async def totals(self) -> Counter[str]:
        """What the queue has counted."""
        return Counter((await self.store.run(reads.queue(QUEUE))).totals)


@pytest.fixture(scope="module")
async def pair(server: OwnServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    url = server.clean_database()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(connect(url))
        operators = []
        for name in OPERATORS:
            await store.run(calls.declare_account(name, password_hash=PASSWORD_HASH, roles=[Role.OPERATOR]))
            base = f"http://127.0.0.1:{free_port()}"
            environ = {
                "LEASEFORGE_REDIS_URL": url,
                "LEASEFORGE_AUTH_SECRET": SECRET,
                "LEASEFORGE_API_ADDR": base.removeprefix("http://"),
            }
            log = tmp_path_factory.mktemp(name) / "server.log"
            command: list[str | Path] = [Path(sys.executable).with_name("leaseforge"), "server"]
            process = stack.enter_context(Process(command, output_file=log, env=environ))
            client = await stack.enter_async_context(httpx.AsyncClient(base_url=base, timeout=30))
            await eventually(lambda process=process, client=client: _is_up(process, client), within_s=60)  # type: ignore[misc]  # bound at once
            login = await client.post("/api/auth/login", json={"username": name, "password": PASSWORD})
            client.headers["Authorization"] = f"Bearer {login.json()['access_token']}"
            operators.append(Operator(name, client))
        yield Pair(tuple(operators), store)


async def _is_up(process: Process, client: httpx.AsyncClient) -> bool:
    process.check_running()
    try:
        return (await client.get("/ready")).status_code == 200
    except httpx.TransportError:
        return False


async def ready_jobs(store: Store) -> list[str]:
    jobs = [new_job("echo", {}) for _ in range(JOBS)]
    return [one.id for one in await store.run(operations.enqueue_many(jobs))]


async def scheduled_jobs(store: Store) -> list[str]:
    jobs = [new_job("echo", {}, delay_ms=3_600_000) for _ in range(JOBS)]
    return [one.id for one in await store.run(operations.enqueue_many(jobs))]


async def dead_jobs(store: Store) -> list[str]:
    return [await kill_job(store) for _ in range(JOBS)]


async def completed_jobs(store: Store) -> list[str]:
    ids = []
    for _ in range(JOBS):
        claimed = await claim_job(store)
        await settle(store, claimed, Outcome.COMPLETE, result=b"1")
        ids.append(claimed.id)
    return ids


Made = Callable[[Store], Awaitable[list[str]]]
ONCE: list[tuple[str, Made, str, JobState | None]] = [
    ("retry", dead_jobs, "replayed", JobState.READY),
    ("requeue", completed_jobs, "replayed", JobState.READY),
    ("promote", scheduled_jobs, "promoted", JobState.READY),
    ("cancel", ready_jobs, "cancelled", JobState.CANCELLED),
    ("delete", dead_jobs, "deleted", None),
]


@pytest.mark.parametrize(("verb", "made", "counted", "after"), ONCE, ids=[row[0] for row in ONCE])
async def test_the_same_action_from_both_is_done_once(
    pair: Pair, verb: str, made: Made, counted: str, after: JobState | None
) -> None:
    await _empty(pair.store)
    ids = await made(pair.store)
    before = await pair.totals()

    told = await pair.both(verb, *ids)

    assert (await pair.totals())[counted] - before[counted] == JOBS
    for job_id in ids:
        statuses = sorted(one.status for one in told if one.job_id == job_id)
        if verb == "delete":  # gone is gone, whoever it was: both may be told so
            assert statuses in ([204, 204], [204, 404]), statuses
        else:
            assert statuses == [200, 409]
    assert {state for state, count in (await _counts(pair.store)).items() if count} == ({after} if after else set())
    await _check_audit(pair.store, told)


@pytest.mark.parametrize(("verb", "made"), [("purge", ready_jobs), ("purge_dead", dead_jobs)])
async def test_two_purges_remove_each_job_once_and_tell_who_removed_how_many(pair: Pair, verb: str, made: Made) -> None:
    await _empty(pair.store)
    ids = [job_id for _ in range(3) for job_id in await made(pair.store)]
    before = await pair.totals()

    told = await pair.both(verb)

    assert [one.status for one in told] == [200, 200]
    assert sum(one.removed for one in told) == len(ids) == (await pair.totals())["purged"] - before["purged"]
    assert not any((await _counts(pair.store)).values())
    await _check_audit(pair.store, told)


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_two_do_at_random_every_answer_is_true(pair: Pair, seed: int) -> None:
    await _empty(pair.store)
    chance = random.Random(seed)
    ids = [
        job_id for made in (ready_jobs, scheduled_jobs, dead_jobs, completed_jobs) for job_id in await made(pair.store)
    ]
    before = await pair.totals()
    verbs = ("retry", "requeue", "promote", "cancel", "delete")
    lists = {one.name: [(verb, job_id) for verb in verbs for job_id in ids] for one in pair.operators}

    async def all_of(operator: Operator) -> list[Told]:
        chance.shuffle(lists[operator.name])
        queue = iter(lists[operator.name])

        async def some() -> list[Told]:
            return [await operator.does(verb, job_id) for verb, job_id in queue]

        return [one for part in await asyncio.gather(*(some() for _ in range(4))) for one in part]

    told = [one for part in await asyncio.gather(*(all_of(operator) for operator in pair.operators)) for one in part]

    assert {one.status for one in told} <= {200, 204, 404, 409}
    done = Counter(one.verb for one in told if one.status < 300)
    counted = await pair.totals() - before
    assert counted["replayed"] == done["retry"] + done["requeue"]
    assert (counted["promoted"], counted["cancelled"]) == (done["promote"], done["cancel"])
    gone = {one.job_id for one in told if (one.verb, one.status) == ("delete", 204)}
    assert counted["deleted"] == len(gone)
    kept = {job_id for job_id in ids if await _is_kept(pair.store, job_id)}
    assert kept == set(ids) - gone
    await _check_audit(pair.store, told)


async def _is_kept(store: Store, job_id: str) -> bool:
    return await store.run(reads.job_call(QUEUE, job_id)) is not None


async def _counts(store: Store) -> dict[JobState, int]:
    return dict((await store.run(reads.queue(QUEUE))).counts)


async def _empty(store: Store) -> None:
    """Removes the queue's jobs; what it has counted stays."""
    await store.run(operations.enqueue(new_job("echo", {})))
    for state in JobState:
        for job in (await store.run(reads.jobs(QUEUE, state, limit=100))).items:
            await store.run(operations.delete(job.id))


async def _check_audit(store: Store, told: list[Told]) -> None:
    """Each answer is an action of its own in the trail, by whom, to what, and how it ended."""
    entries: dict[str, Entry] = {}
    at = 0
    while (read := await store.run(read_on(at))).entries:
        found = [decode(stored.body) for stored in read.entries]
        entries |= {entry.id: entry for entry in found if entry.step is Step.OUTCOME}
        at = read.entries[-1].sequence
    assert len({one.audit for one in told}) == len(told)
    for one in told:
        entry = entries[one.audit]
        assert (entry.user, entry.status) == (one.user, one.status)
        assert entry.result is (Result.OK if one.status < 300 else Result.REFUSED)
        if one.verb.startswith("purge"):
            assert entry.detail["removed"] == one.removed
        else:
            assert entry.target == one.job_id
