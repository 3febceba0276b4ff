import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.errors import JobNotFound, StoreUnavailable
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_console import live as live_module
from leaseforge_console.live import Live, TooManyStreams, Topic, Update
from leaseforge_console.views.snapshot import Snapshot
from tests.support import eventually


class Counted:
    """A page's reading that counts how often it is done."""

    def __init__(self) -> None:
        self.times = 0
        self.fails_with: Exception | None = None

    async def __call__(self, _store: Store, _snapshot: Snapshot, *args: Any) -> Any:
        self.times += 1
        if self.fails_with:
            raise self.fails_with
        return (*args, self.times)


@asynccontextmanager
async def polling(store: Store, *, every_s: float = 0.02) -> AsyncIterator[tuple[Live, asyncio.Event]]:
    stop = asyncio.Event()
    live = Live(store, every_s=every_s)
    running = asyncio.create_task(live.run(stop))
    try:
        yield live, stop
    finally:
        stop.set()
        await running


async def next_update(updates: AsyncIterator[Update | None]) -> Update:
    update = await asyncio.wait_for(anext(updates), 5)
    assert update is not None
    return update


async def test_many_listeners_of_a_page_cost_one_reading(store: Store) -> None:
    counted = Counted()
    async with polling(store, every_s=60) as (live, _):
        listeners = [live.updates(Topic(counted)) for _ in range(50)]
        waiting = [asyncio.create_task(next_update(updates)) for updates in listeners]

        seen = await asyncio.gather(*waiting)

        assert len({id(update) for update in seen}) <= 2
        assert counted.times <= 2
        for updates in listeners:
            await updates.aclose()  # type: ignore[attr-defined]  # it is a generator
        assert live.topics == 0


async def test_with_nobody_listening_nothing_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    polls = 0

    async def count_polls(_store: Store) -> Snapshot:
        nonlocal polls
        polls += 1
        return Snapshot.of([], [])

    monkeypatch.setattr(live_module, "read_snapshot", count_polls)
    async with polling(store) as (live, _):
        async with aclosing(live.updates(Topic(Counted()))) as updates:  # type: ignore[type-var]
            await next_update(updates)
            await next_update(updates)
        after = polls
        live.nudge()
        await eventually(lambda: not live._wake.is_set())
        assert polls == after


async def test_a_change_is_seen_at_once_when_nudged(store: Store) -> None:
    await store.run(operations.enqueue(new_job("echo", queue="mail")))
    async with polling(store, every_s=60) as (live, _):
        updates = live.updates(Topic(Counted()))
        first = await next_update(updates)
        assert first.snapshot is not None
        assert not first.snapshot.queues[0].paused

        await store.run(operations.pause("mail"))
        live.nudge()

        second = await next_update(updates)
        assert second.snapshot is not None
        assert second.snapshot.queues[0].paused


async def test_trouble_of_redis_is_told_and_over_when_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unavailable(_store: Store) -> Snapshot:
        raise StoreUnavailable("Redis is away")

    async with polling(store) as (live, _):
        updates = live.updates(Topic(Counted()))
        await next_update(updates)
        with monkeypatch.context() as patch:
            patch.setattr(live_module, "read_snapshot", unavailable)

            async def told() -> bool:
                return (await next_update(updates)).trouble == "Redis is away"

            await eventually(told)

        async def recovered() -> bool:
            return not (await next_update(updates)).trouble

        await eventually(recovered)


async def test_what_is_gone_is_told_and_others_go_on(store: Store) -> None:
    lost, fine = Counted(), Counted()
    lost.fails_with = JobNotFound("x")
    async with polling(store) as (live, _):
        gone = await next_update(live.updates(Topic(lost)))
        still = await next_update(live.updates(Topic(fine)))

    assert gone.gone
    assert not still.gone


async def test_a_defect_in_one_page_does_not_end_live_updates(store: Store) -> None:
    broken, fine = Counted(), Counted()
    broken.fails_with = RuntimeError("a defect")
    async with polling(store) as (live, _):
        failing = live.updates(Topic(broken), keepalive_s=0.1)
        assert await asyncio.wait_for(anext(failing), 5) is None
        broken.fails_with = None

        update = await next_update(live.updates(Topic(fine)))

        assert update.data == (1,) or update.data[0] > 1


async def test_listeners_end_when_the_server_stops(store: Store) -> None:
    async with polling(store) as (live, stop):
        updates = live.updates(Topic(Counted()))
        await next_update(updates)

        async def drain() -> None:
            async for _ in updates:
                pass

        draining = asyncio.create_task(drain())
        stop.set()

        await asyncio.wait_for(draining, 5)


async def test_silence_is_broken_by_keepalives(store: Store) -> None:
    async with polling(store, every_s=60) as (live, _):
        updates = live.updates(Topic(Counted()), keepalive_s=0.05)
        await next_update(updates)

        assert await asyncio.wait_for(anext(updates), 5) is None


async def test_different_pages_have_a_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "MAX_TOPICS", 2)
    async with polling(store) as (live, _):
        counted = Counted()
        open_pages = [live.updates(Topic(counted, (number,))) for number in range(2)]
        for updates in open_pages:
            await next_update(updates)

        with pytest.raises(TooManyStreams):
            live.check_room(Topic(counted, (3,)), "ada")
        live.check_room(Topic(counted, (1,)), "ada")


async def test_tabs_of_one_account_have_a_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "MAX_STREAMS_PER_USER", 2)
    topic = Topic(Counted())
    async with polling(store) as (live, _):
        tabs = [live.updates(topic, user="ada") for _ in range(2)]
        for updates in tabs:
            await next_update(updates)

        with pytest.raises(TooManyStreams):
            live.check_room(topic, "ada")
        live.check_room(topic, "bob")
        await tabs[0].aclose()  # type: ignore[attr-defined]  # it is a generator
        live.check_room(topic, "ada")
