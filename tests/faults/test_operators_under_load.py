"""Operators who act on jobs while workers claim, settle and lose them: every answer they got is what then was."""

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from leaseforge import operations, reads
from leaseforge.answers import Answer
from leaseforge.calls import Plan
from leaseforge.errors import InvalidTransition, JobNotFound
from leaseforge.jobs import JobState, NewJob
from leaseforge.requests import new_job
from leaseforge.store import Store, SyncStore, connect_sync
from tests.faults.audit import audit
from tests.faults.produced import Produced, Producer
from tests.faults.workers import Crew
from tests.support.audit import Snapshot
from tests.support.waiting import eventually
from tests.worker.workers import counts

QUEUE = "default"


@dataclass
class Answers:
    """What operators were told: ids by the action that was carried out, and how many jobs purges removed."""

    done: dict[str, Counter[str]] = field(
        default_factory=lambda: {verb: Counter() for verb in ("cancel", "delete", "retry", "requeue")}
    )
    purged: int = 0
    refused: Counter[str] = field(default_factory=Counter)


class Operator(threading.Thread):
    """Acts at random on the jobs it was told of, until told to stop. An error it must not meet ends up in `failed`."""

    def __init__(self, url: str, ids: list[str], chance: random.Random) -> None:
        super().__init__()
        self.answers = Answers()
        self.failed: BaseException | None = None
        self._url = url
        self._ids = ids
        self._chance = chance
        self._enough = threading.Event()

    def run(self) -> None:
        try:
            with connect_sync(self._url) as store:
                while not self._enough.wait(self._chance.choice((0, 0.001, 0.005))):
                    self._act(store)
        except BaseException as error:
            self.failed = error

    def stop(self) -> None:
        self._enough.set()

    def _act(self, store: SyncStore) -> None:
        verbs = ("cancel", "delete", "retry", "requeue", "pause", "purge")
        [verb] = self._chance.choices(verbs, weights=(8, 3, 8, 8, 2, 1))
        if verb == "pause":
            store.run(operations.pause(QUEUE))
            store.run(operations.resume(QUEUE))
        elif verb == "purge":
            info = store.run(reads.queue(QUEUE))
            # Of what came first only, or one purge would leave the others nothing to race with.
            sequence = self._chance.randrange(info.sequence // 4 + 1)
            self.answers.purged += store.run(operations.purge(QUEUE, sequence=sequence, as_of_ms=info.as_of_ms)).removed
        else:
            self._act_on_job(store, verb, self._chance.choice(self._ids))

    def _act_on_job(self, store: SyncStore, verb: str, job_id: str) -> None:
        operation = str(uuid4())
        acts: dict[str, Callable[[str], Plan[Answer]]] = {
            "cancel": partial(operations.cancel, operation=operation),
            "delete": operations.delete,
            "retry": partial(operations.retry, operation=operation),
            "requeue": partial(operations.requeue, operation=operation),
        }
        try:
            answer = store.run(acts[verb](job_id))
        except (JobNotFound, InvalidTransition) as refused:
            self.answers.refused[type(refused).__name__] += 1
        else:
            if answer is Answer.OK:
                self.answers.done[verb][job_id] += 1


async def _storm(store: Store, crew: Crew, chance: random.Random, *, jobs: int, operators: int, kills: int) -> None:
    produced = Produced()
    fast: dict[str, Any] = {"max_attempts": 2, "backoff": "fixed", "backoff_base_ms": 20}
    kinds: list[Callable[[str], NewJob]] = [
        lambda id: new_job("work", {"ms": 10}, id=id),
        lambda id: new_job("work_in_thread", {"ms": 5}, id=id),
        lambda id: new_job("breaks", id=id, **fast),
        lambda id: new_job("work", {"ms": 1}, id=id, delay_ms=chance.randrange(1000)),
    ]
    ids: list[str] = []

    def make(number: int, id: str) -> NewJob:
        ids.append(id)
        return kinds[number % len(kinds)](id)

    workers = crew.workers(2, lease_s=1.0, concurrency=4, LEASEFORGE_BACKOFF_BASE="0.05")
    with Producer(crew.url, produced, count=jobs, make=make) as producer:
        await eventually(lambda: len(ids) > 20)
        team = [Operator(crew.url, ids, random.Random(chance.random())) for _ in range(operators)]
        for operator in team:
            operator.start()
        for _ in range(kills):
            victim = workers.pop(0)
            os.kill(victim.pid, signal.SIGKILL)
            workers += crew.workers(1, lease_s=1.0, concurrency=4, LEASEFORGE_BACKOFF_BASE="0.05")
        await eventually(lambda: not producer.is_alive(), within_s=60)
        for operator in team:
            operator.stop()
            operator.join()
    assert [operator.failed for operator in team] == [None] * operators
    await store.run(operations.resume(QUEUE))
    await eventually(lambda: _is_quiet(store), within_s=60)
    for worker in workers:
        worker.end()

    done = {verb: sum((each.answers.done[verb] for each in team), Counter()) for verb in team[0].answers.done}
    purged = sum(each.answers.purged for each in team)
    assert all(done.values()), "no operator ever got through"
    assert len(produced.acknowledged) == jobs
    seen = audit(crew.url, crew.ledger, produced, gone=purged + len(done["delete"]))[QUEUE]
    _check_totals(seen, done, purged, jobs)
    for job_id in ids:
        _check_job(job_id, seen, {verb: ids_done[job_id] for verb, ids_done in done.items()})


def _check_totals(seen: Snapshot, done: dict[str, Counter[str]], purged: int, jobs: int) -> None:
    told = {
        "enqueued": jobs,
        "purged": purged,
        "deleted": done["delete"].total(),
        "replayed": done["retry"].total() + done["requeue"].total(),
    }
    assert {name: seen.counts.get(name, 0) for name in told} == told


def _check_job(job_id: str, seen: Snapshot, done: dict[str, int]) -> None:
    """A job's end against all that operators were told of it."""
    record = seen.records.get(job_id)
    assert done["delete"] <= 1
    if record is None:
        return
    assert not done["delete"], f"{job_id} was deleted and is {record['state']}"
    assert int(record.get("replays", 0)) == done["retry"] + done["requeue"]
    if record["state"] == JobState.CANCELLED:
        assert done["cancel"], f"{job_id} was cancelled by nobody"
    if not any(done.values()):
        expected = JobState.DEAD if record["type"] == "breaks" else JobState.COMPLETED
        assert record["state"] == expected, f"nobody touched {job_id}, and it is {record['state']}"


async def _is_quiet(store: Store) -> bool:
    now = await counts(store)
    return not {"ready", "running", "scheduled", "retrying"} & now.keys()


async def test_what_operators_were_told_is_what_happened(store: Store, crew: Crew, chance: random.Random) -> None:
    await _storm(store, crew, chance, jobs=600, operators=4, kills=1)


@pytest.mark.soak
async def test_what_operators_were_told_is_what_happened_for_long(
    store: Store, crew: Crew, chance: random.Random
) -> None:
    await _storm(store, crew, chance, jobs=8000, operators=8, kills=8)
