"""kill -9 of a producer or the API between what it did in Redis and its answer: the same request gets the same job."""

import asyncio
import json
import os
import random
import signal
import sys
from typing import Any

from leaseforge.store import Store
from tests.api.conftest import PASSWORD, SECRET
from tests.api.test_serve import is_ready, request
from tests.faults.audit import audit
from tests.faults.produced import Produced
from tests.faults.proxy import Proxy, calls_of, proxied
from tests.faults.workers import CLI, ROOT, StartProcess
from tests.support.processes import Process
from tests.support.waiting import eventually, free_port
from tests.worker.workers import counts

JOBS = 200


def hold_after(proxy: Proxy, calls: int) -> None:
    """The reply to the enqueue after so many more is carried out and kept back."""
    is_enqueue, seen = calls_of("enqueue"), 0

    def holds(request: bytes) -> bool:
        nonlocal seen
        seen += is_enqueue(request)
        return is_enqueue(request) and seen > calls

    proxy.holds = holds


async def test_a_producer_that_was_killed_sends_again_and_hears_the_same_ids(
    processes: StartProcess, store: Store, redis_url: str, produced: Produced, chance: random.Random
) -> None:
    told: dict[str, set[str]] = {}

    def read(child: Process) -> None:
        for line in child.output().splitlines():
            number, _, id = line.partition(" ")
            told.setdefault(number, set()).add(id)

    async with proxied(redis_url) as (proxy, url):
        env = {"LEASEFORGE_REDIS_URL": url, "COUNT": str(JOBS)}
        for _ in range(3):
            hold_after(proxy, chance.randrange(JOBS - 1))
            held = proxy.held
            child = processes([sys.executable, "-m", "tests.faults.producing"], env=env, cwd=ROOT)
            await eventually(lambda held=held: proxy.held > held, within_s=60)  # type: ignore[misc]
            os.kill(child.pid, signal.SIGKILL)
            await asyncio.to_thread(child.wait)
            read(child)
        proxy.holds = lambda request: False
        last = processes([sys.executable, "-m", "tests.faults.producing"], env=env, cwd=ROOT)
        await eventually(lambda: last.returncode is not None, within_s=60)
        read(last)

    assert last.returncode == 0, last.output()
    assert len(told) == JOBS
    assert {len(ids) for ids in told.values()} == {1}
    produced.add(*[id for ids in told.values() for id in ids])
    assert await counts(store) == {"ready": JOBS}
    audit(redis_url, produced=produced, ended=False)


class Api:
    """The real server process behind a proxy of its way to Redis."""

    def __init__(self, start: StartProcess, url: str) -> None:
        self._start = start
        self._url = url
        self._port = 0
        self._token = ""
        self.process: Process

    async def start(self) -> None:
        """Starts it and logs in."""
        self._port = free_port()
        env = {
            "LEASEFORGE_AUTH_SECRET": SECRET,
            "LEASEFORGE_ADMIN_PASSWORD": PASSWORD,
            "LEASEFORGE_REDIS_URL": self._url,
            "LEASEFORGE_API_ADDR": f"127.0.0.1:{self._port}",
        }
        self.process = self._start([*CLI, "server"], env=env, cwd=ROOT)
        await eventually(lambda: asyncio.to_thread(is_ready, self._port), within_s=90)
        body = json.dumps({"username": "admin", "password": PASSWORD})
        _, answer = await self._post("/api/auth/login", body)
        self._token = answer["access_token"]

    async def enqueue(self, key: str) -> tuple[int, Any]:
        """One request; OSError when the process dies over it."""
        body = json.dumps({"type": "work", "payload": {"ms": 1}})
        return await self._post("/api/jobs", body, Authorization=f"Bearer {self._token}", Idempotency_Key=key)

    async def _post(self, path: str, body: str, **headers: str) -> tuple[int, Any]:
        headers["Content_Type"] = "application/json"
        status, answer, _ = await asyncio.to_thread(request, self._port, "POST", path, body, **headers)
        return status, answer


async def test_an_api_that_was_killed_before_it_answered_gives_the_same_id_to_the_same_key(
    processes: StartProcess, store: Store, redis_url: str, produced: Produced
) -> None:
    async with proxied(redis_url) as (proxy, url):
        api = Api(processes, url)
        await api.start()
        first_answers = [await api.enqueue(f"key-{number}") for number in range(20)]
        assert {status for status, _ in first_answers} == {201}

        hold_after(proxy, 0)
        unanswered = [asyncio.create_task(api.enqueue(f"lost-{number}")) for number in range(5)]
        # Those that come while a call is under way wait for the next one: at least the first is stored.
        await eventually(lambda: has_more_than(store, 20))
        os.kill(api.process.pid, signal.SIGKILL)
        outcomes = await asyncio.gather(*unanswered, return_exceptions=True)
        assert all(isinstance(outcome, Exception) for outcome in outcomes), outcomes

        proxy.holds = lambda request: False
        again = Api(processes, url)
        await again.start()
        for number, (_, first) in enumerate(first_answers):
            _, second = await again.enqueue(f"key-{number}")
            assert second["id"] == first["id"]
        for number in range(5):
            _, job = await again.enqueue(f"lost-{number}")
            _, same = await again.enqueue(f"lost-{number}")
            assert job["id"] == same["id"]
            produced.add(job["id"])
        produced.add(*[first["id"] for _, first in first_answers])

    assert await counts(store) == {"ready": 25}
    assert len(produced.acknowledged) == 25
    audit(redis_url, produced=produced, ended=False)


async def has_more_than(store: Store, jobs: int) -> bool:
    return (await counts(store)).get("ready", 0) > jobs
