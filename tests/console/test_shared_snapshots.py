"""Pages that are asked for together share a reading; none shows what was before its reader's own action."""

import asyncio
import http.client
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from leaseforge import operations
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.roles import Role
from leaseforge_console.live import read_snapshot
from tests.console.browsing import Visitor
from tests.console.conftest import PASSWORD, PASSWORD_HASH, SECRET
from tests.support import Process, eventually, free_port

LEASEFORGE = Path(sys.executable).with_name("leaseforge")


class Gate:
    """Holds back the answers to what was asked while it is shut."""

    def __init__(self, store: Store) -> None:
        self._run = store.run
        self._open = asyncio.Event()
        self._open.set()
        self.asked: Counter[str] = Counter()
        self.held = 0

    async def run(self, work: Any) -> Any:
        self.asked[getattr(work, "__name__", "call")] += 1
        is_held = not self._open.is_set()
        answer = await self._run(work)
        self.held += is_held
        if is_held:
            await self._open.wait()
        return answer

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate(store: Store, monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate(store)
    monkeypatch.setattr(store, "run", gate.run)
    return gate


async def test_what_is_asked_for_while_another_reads_shares_the_next_reading(store: Store, gate: Gate) -> None:
    gate.shut()
    first = asyncio.create_task(read_snapshot(store))
    await eventually(lambda: gate.held == 4)
    later = [asyncio.create_task(read_snapshot(store)) for _ in range(50)]
    await asyncio.sleep(0)
    gate.open()

    found = await asyncio.gather(first, *later)

    assert len({id(snapshot) for snapshot in found[1:]}) == 1
    assert found[0] is not found[1]
    assert gate.asked["foreign_keys"] == 2


async def test_who_asks_after_an_action_is_never_given_a_reading_from_before_it(store: Store, gate: Gate) -> None:
    await store.run(operations.enqueue(new_job("echo", queue="mail")))
    gate.shut()
    before = asyncio.create_task(read_snapshot(store))
    await eventually(lambda: gate.held == 4)
    gate.open()  # what is held goes on in the loop's next turn, behind what follows here
    pausing = asyncio.create_task(gate._run(operations.pause("mail")))
    gate.shut()
    await pausing

    after = asyncio.create_task(read_snapshot(store))
    await asyncio.sleep(0)
    gate.open()

    assert not (await before).queues[0].paused
    assert (await after).queues[0].paused


async def test_a_reader_who_leaves_takes_nothing_from_the_others(store: Store, gate: Gate) -> None:
    await store.run(operations.enqueue(new_job("echo", queue="mail")))
    gate.shut()
    gone, patient = (asyncio.create_task(read_snapshot(store)) for _ in range(2))
    await eventually(lambda: gate.held == 4)

    gone.cancel()
    gate.open()

    assert [queue.name for queue in (await patient).queues] == ["mail"]


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


async def test_an_action_at_one_server_is_on_the_very_next_page_of_another_that_is_busy(
    processes: Callable[..., Process], redis_url: str, store: Store
) -> None:
    await store.run(calls.declare_account("chief", password_hash=PASSWORD_HASH, roles=[Role.ADMIN]))
    await store.run(operations.enqueue(new_job("echo", queue="mail")))
    ports = [free_port() for _ in range(2)]
    for port in ports:
        environ = {"REDIS_URL": redis_url, "API_ADDR": f"127.0.0.1:{port}", "AUTH_SECRET": SECRET}
        processes([LEASEFORGE, "server"], env={f"LEASEFORGE_{name}": value for name, value in environ.items()})
    await eventually(lambda: all(_is_ready(port) for port in ports), within_s=60)
    async with (
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{ports[0]}", timeout=30) as here,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{ports[1]}", timeout=30) as there,
    ):
        acting = Visitor(here)
        assert (await acting.post("/console/login", username="chief", password=PASSWORD)).status_code == 303
        there.cookies = here.cookies
        is_over = False

        async def look_on() -> None:
            while not is_over:
                assert (await there.get("/console/queues")).status_code == 200

        onlookers = [asyncio.create_task(look_on()) for _ in range(4)]
        for action, word in 4 * [("pause", "resume"), ("resume", "pause")]:
            await acting.get("/console/queues")
            assert (await acting.post(f"/console/queues/mail/{action}")).status_code == 303

            page = (await there.get("/console/queues")).text

            assert f"/console/queues/mail/{word}" in page
            assert f"/console/queues/mail/{action}" not in page
        is_over = True
        await asyncio.gather(*onlookers)
