import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.errors import JobNotFound, StoreUnavailable
from leaseforge.pulse import Pulse
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
async def running(live: Live) -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    polling = asyncio.create_task(live.run(stop))
    try:
        yield stop
    finally:
        stop.set()
        await polling


@asynccontextmanager
async def polling(store: Store, *, every_s: float = 0.02) -> AsyncIterator[tuple[Live, asyncio.Event]]:
    live = Live(store, every_s=every_s)
    async with running(live) as stop:
        yield live, stop


async def next_update(updates: AsyncIterator[Update | None]) -> Update:
    update = await asyncio.wait_for(anext(updates), 5)
    assert update is not None
    return update


async def test_many_listeners_of_a_page_cost_one_reading(store: Store) -> None:
    counted = Counted()
    async with polling(store, every_s=60) as (live, _):
        listeners = [live.take(Topic(counted)).updates() for _ in range(50)]
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
        async with aclosing(live.take(Topic(Counted())).updates()) as updates:  # type: ignore[type-var]
            await next_update(updates)
            await next_update(updates)
        after = polls
        live.nudge()
        await eventually(lambda: not live._wake.is_set())
        assert polls == after


async def test_a_change_is_seen_at_once_when_nudged(store: Store) -> None:
    await store.run(operations.enqueue(new_job("echo", queue="mail")))
    async with polling(store, every_s=60) as (live, _):
        updates = live.take(Topic(Counted())).updates()
        first = await next_update(updates)
        assert first.snapshot is not None
        assert not first.snapshot.queues[0].paused

        await store.run(operations.pause("mail"))
        live.nudge()

        second = await next_update(updates)
        assert second.snapshot is not None
        assert second.snapshot.queues[0].paused


async def test_a_reading_under_way_when_somebody_acts_does_not_undo_it_on_their_pages(store: Store) -> None:
    """Their own pages wait for one that was begun afterwards; nobody else's do."""
    reading, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_store: Store, _snapshot: Snapshot) -> str:
        if paused.is_set():
            return "paused"
        reading.set()
        await go_on.wait()
        return "runs"

    paused = asyncio.Event()
    async with polling(store, every_s=60) as (live, _):
        topic = Topic(slow)
        own, others = (live.take(topic, session=session).updates() for session in ("own", "other"))
        first_of_others = asyncio.create_task(next_update(others))
        first_of_own = asyncio.create_task(next_update(own))
        await reading.wait()

        paused.set()
        live.nudge("own")
        go_on.set()

        assert (await first_of_others).data == "runs"
        assert (await first_of_own).data == "paused"


async def test_trouble_of_redis_is_told_and_over_when_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unavailable(_store: Store) -> Snapshot:
        raise StoreUnavailable("Redis is away")

    async with polling(store) as (live, _):
        updates = live.take(Topic(Counted())).updates()
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
        gone = await next_update(live.take(Topic(lost)).updates())
        still = await next_update(live.take(Topic(fine)).updates())

    assert gone.gone
    assert not still.gone


async def test_a_defect_in_one_page_does_not_end_live_updates(store: Store) -> None:
    broken, fine = Counted(), Counted()
    broken.fails_with = RuntimeError("a defect")
    async with polling(store) as (live, _):
        failing = live.take(Topic(broken)).updates(keepalive_s=0.1)
        assert await asyncio.wait_for(anext(failing), 5) is None
        broken.fails_with = None

        update = await next_update(live.take(Topic(fine)).updates())

        assert update.data == (1,) or update.data[0] > 1


async def test_listeners_end_when_the_server_stops(store: Store) -> None:
    async with polling(store) as (live, stop):
        updates = live.take(Topic(Counted())).updates()
        await next_update(updates)

        async def drain() -> None:
            async for _ in updates:
                pass

        draining = asyncio.create_task(drain())
        stop.set()

        await asyncio.wait_for(draining, 5)


async def test_silence_is_broken_by_keepalives(store: Store) -> None:
    async with polling(store, every_s=60) as (live, _):
        updates = live.take(Topic(Counted())).updates(keepalive_s=0.05)
        await next_update(updates)

        assert await asyncio.wait_for(anext(updates), 5) is None


async def test_a_page_that_is_opened_never_shows_what_was_read_before(store: Store) -> None:
    topic = Topic(Counted())
    async with polling(store, every_s=60) as (live, _):
        early = live.take(topic).updates()
        before = await next_update(early)

        late = await next_update(live.take(topic).updates())

        assert late.at > before.at
        assert late.data > before.data


async def test_different_pages_have_a_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "MAX_TOPICS", 2)
    live = Live(store)
    counted = Counted()
    taken = [live.take(Topic(counted, (number,))) for number in range(2)]

    with pytest.raises(TooManyStreams):
        live.take(Topic(counted, (3,)), user="ada")
    taken.append(live.take(Topic(counted, (1,)), user="ada"))
    taken.pop(0)

    taken.append(live.take(Topic(counted, (3,)), user="ada"))
    assert live.topics == 2


async def test_tabs_of_one_account_have_a_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "MAX_STREAMS_PER_USER", 2)
    topic = Topic(Counted())
    async with polling(store) as (live, _):
        tabs = [live.take(topic, user="ada").updates() for _ in range(2)]

        with pytest.raises(TooManyStreams):
            live.take(topic, user="ada")
        bob = live.take(topic, user="bob")
        await next_update(tabs[0])
        await tabs[0].aclose()  # type: ignore[attr-defined]  # it is a generator
        ada = live.take(topic, user="ada")

        assert (live.streams_of("ada"), live.streams_of("bob")) == (2, 1)
        del tabs, bob, ada  # none of these ever began
        assert (live.topics, live.streams_of("ada"), live.streams_of("bob")) == (0, 0, 0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_poller_with_nobody_to_read_for_does_not_look_stalled(store: Store) -> None:
    clock, idle = Clock(), Topic(Counted(), loop="events")
    pulse = Pulse(clock)
    async with running(Live(store, every_s=0.02, pulse=pulse, standing=[idle])):
        for _ in range(3):
            clock.now += 100
            await eventually(lambda: pulse.ages_s() == {"live": 0, "events": 0})


async def test_a_reading_that_does_not_come_back_shows_in_the_age_of_its_loops(store: Store) -> None:
    clock, go_on = Clock(), asyncio.Event()
    pulse = Pulse(clock)

    async def wait(_store: Store, _snapshot: Snapshot, *_: Any) -> None:
        await go_on.wait()

    stuck = Topic(wait, loop="events")
    live = Live(store, every_s=0.02, pulse=pulse, standing=[stuck])
    async with running(live):
        await eventually(lambda: "events" in pulse.ages_s())
        updates = live.take(stuck).updates(keepalive_s=0.1)
        assert await asyncio.wait_for(anext(updates), 5) is None
        clock.now += 100
        assert await asyncio.wait_for(anext(updates), 5) is None

        assert pulse.ages_s() == {"live": 100, "events": 100}
        go_on.set()
        await next_update(updates)
        await eventually(lambda: pulse.ages_s() == {"live": 0, "events": 0})


async def test_a_reading_that_fails_again_and_again_shows_in_the_age_of_its_loop_alone(store: Store) -> None:
    clock, broken, fine = Clock(), Counted(), Counted()
    broken.fails_with = RuntimeError("a defect")
    pulse, topic = Pulse(clock), Topic(broken, loop="events")
    live = Live(store, every_s=0.02, pulse=pulse, standing=[topic])
    async with running(live):
        await eventually(lambda: "events" in pulse.ages_s())
        broken_updates, fine_updates = live.take(topic).updates(), live.take(Topic(fine)).updates()
        waiting = asyncio.create_task(next_update(broken_updates))
        await next_update(fine_updates)
        clock.now += 100
        await next_update(fine_updates)
        await next_update(fine_updates)

        assert pulse.ages_s() == {"live": 0, "events": 100}
        assert pulse.crashes["events"] >= 1
        assert "live" not in pulse.crashes
        waiting.cancel()
