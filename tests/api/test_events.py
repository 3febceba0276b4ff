"""The stream of events, read from a real server over a socket."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import httpx
import pytest
import uvicorn
from litestar import Litestar

from leaseforge import attempts, bulk, operations
from leaseforge.bulk_records import BulkAction, BulkFilter, BulkOrder
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_api.app import create_app
from leaseforge_api.connections import BoundedProtocol
from leaseforge_api.event_feed import KEPT, EventFeed
from leaseforge_api.serve import Server, listen
from leaseforge_api.settings import ServerSettings
from leaseforge_auth import calls
from leaseforge_auth.roles import Role
from leaseforge_auth.tokens import TokenKeys
from leaseforge_console.live import MAX_STREAMS_PER_USER
from leaseforge_console.views.snapshot import Snapshot
from tests.api.conftest import SECRET, Bearer
from tests.api.support import claim_next, kill_job, report_worker, settle
from tests.support import eventually

ALL = ["queues", "jobs", "workers", "operations", "notices"]


@dataclass
class Listener:
    """What one client has heard."""

    answer: httpx.Response
    heard: list[tuple[str, Any, str]] = field(default_factory=list)
    raw: str = ""
    is_over: bool = False
    reading: "asyncio.Task[None] | None" = None

    async def read(self) -> None:
        name = event_id = ""
        async for line in self.answer.aiter_lines():
            self.raw += line + "\n"
            label, _, value = line.partition(": ")
            if label == "event":
                name = value
            elif label == "id":
                event_id = value
            elif label == "data":
                self.heard.append((name, json.loads(value), event_id))
        self.is_over = True

    def data(self, name: str, /) -> list[Any]:
        return [data for known, data, _ in self.heard if known == name]

    @property
    def last_id(self) -> str:
        return next((event_id for _, _, event_id in reversed(self.heard) if event_id), "")

    async def hears(self, name: str, /, **fields: Any) -> Any:
        """The first event of this name with these fields, once it is here."""

        def found() -> list[Any]:
            return [one for one in self.data(name) if fields.items() <= one.items()]

        return (await eventually(found, within_s=20))[0]


@dataclass
class Running:
    """A server of the test's own, and the way to listen to it."""

    url: str
    app: Litestar
    client: httpx.AsyncClient
    stop: Callable[[], None]
    stopped: "asyncio.Task[None]"

    @asynccontextmanager
    async def listening(self, headers: dict[str, str], query: str = "", last: str = "") -> AsyncIterator[Listener]:
        sent = headers | ({"Last-Event-ID": last} if last else {})
        async with self.client.stream("GET", f"/api/events{query}", headers=sent) as answer:
            listener = Listener(answer)
            if answer.status_code != 200:
                await answer.aread()
                yield listener
                return
            listener.reading = asyncio.create_task(listener.read())
            try:
                yield listener
            finally:
                listener.reading.cancel()
                await asyncio.gather(listener.reading, return_exceptions=True)


@pytest.fixture
async def running(store: Store, _clean: None) -> AsyncIterator[Running]:
    app = create_app(ServerSettings.read({"LEASEFORGE_AUTH_SECRET": SECRET}), store)
    with listen(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, log_config=None, http=BoundedProtocol, timeout_graceful_shutdown=10)
        started = asyncio.Event()
        server = Server(config, on_start=started.set, on_stop=app.state.stop.set)
        # What `serve` of uvicorn does, without taking over the signals of the tests' own process.
        task = asyncio.create_task(server._serve([listening]))
        await started.wait()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(base_url=url, timeout=20, limits=limits) as client:
            yield Running(url, app, client, lambda: server.handle_exit(15, None), task)
        if not task.done():
            server.handle_exit(15, None)
        await task


async def test_a_stream_tells_everything_there_is_and_then_what_changes(
    running: Running, store: Store, bearer: Bearer
) -> None:
    await store.run(operations.enqueue(new_job("echo", {"secret": "hidden"}, queue="mail")))
    await report_worker(store, "one")

    async with running.listening(bearer(Role.VIEWER)) as listener:
        assert listener.answer.headers["content-type"].startswith("text/event-stream")
        assert await listener.hears("start") == {"topics": ALL, "resumed": False}
        assert (await listener.hears("queue", name="mail"))["counts"]["ready"] == 1
        assert (await listener.hears("worker", id="one"))["state"] == "running"
        await listener.hears("notice", kind="no_worker", queue="mail")
        await listener.hears("synced")
        assert listener.raw.startswith("retry: 3000\n")

        died = await kill_job(store, "mail")
        order = BulkOrder(BulkAction.DELETE, BulkFilter(state=JobState.DEAD), created_by="ada")
        operation = await store.run(bulk.create("0" * 32, order))
        await store.run(operations.pause("mail"))

        job = await listener.hears("job", id=died)
        assert (job["status"], job["error"]["message"], job["queue"]) == ("dead", "no such address", "mail")
        await listener.hears("operation", id=operation.id, created_by="ada")
        await listener.hears("queue", name="mail", paused=True)
        await listener.hears("gone", event="notice", key="no_worker:mail")
        assert "hidden" not in listener.raw
        assert len(listener.data("worker")) == 1


async def test_a_stream_goes_on_where_it_was_cut_off(running: Running, store: Store, bearer: Bearer) -> None:
    headers = bearer(Role.OPERATOR)
    for name in ("mail", "reports"):
        await store.run(operations.enqueue(new_job("echo", queue=name)))
    async with running.listening(headers, "?topics=queues,jobs") as listener:
        await listener.hears("synced")
        last = listener.last_id
        await kill_job(store, "reports")
        await listener.hears("job")
    died = await kill_job(store, "reports")

    async with running.listening(headers, "?topics=queues,jobs", last) as listener:
        assert await listener.hears("start") == {"topics": ["queues", "jobs"], "resumed": True}
        await listener.hears("job", id=died)
        await listener.hears("queue", name="reports")
        assert len(listener.data("job")) == 2
        assert {one["name"] for one in listener.data("queue")} == {"reports"}

    feed: EventFeed = cast(Any, running.app.dependencies["event_feed"]).dependency()
    run = last.partition("-")[0]
    for unknown in ("another-1", f"{run}-99999", f"{run}-\u00b2", f"{run}--1", run, "", "x" * 9_000):
        assert feed.number_of(unknown) == 0
    async with running.listening(headers, "?topics=queues", "another-1") as listener:
        assert await listener.hears("start") == {"topics": ["queues"], "resumed": False}
        await listener.hears("synced")
        assert {one["name"] for one in listener.data("queue")} == {"mail", "reports"}


async def test_one_job_is_followed_to_its_end(running: Running, store: Store, bearer: Bearer) -> None:
    secret = {"secret": "hidden"}
    job_id = (await store.run(operations.enqueue(new_job("echo", secret, queue="mail", delay_ms=3_600_000)))).id
    other = await kill_job(store, "reports")

    async with running.listening(bearer(Role.VIEWER), f"?job={job_id}") as listener:
        assert await listener.hears("start") == {"topics": ["jobs"], "resumed": False}
        assert (await listener.hears("job", status="scheduled"))["id"] == job_id
        await store.run(operations.promote(job_id, operation="now"))
        claimed = await claim_next(store, "mail")
        await listener.hears("job", status="running", attempts=1)
        await store.run(attempts.progress("mail", job_id, claimed.token, percent=40, note="half"))
        await listener.hears("job", progress={"percent": 40, "note": "half"})
        await settle(store, claimed, Outcome.FAIL, error_kind="E", error_message="no", max_attempts=1)
        assert (await listener.hears("job", status="dead"))["error"] == {"kind": "E", "message": "no"}
        assert await listener.hears("end") == {"reason": "job-ended"}
        await eventually(lambda: listener.is_over)
        assert "hidden" not in listener.raw
        assert other not in listener.raw
        assert [name for name, _, _ in listener.heard].count("job") == len({str(one) for one in listener.data("job")})

    async with running.listening(bearer(Role.VIEWER), f"?job={job_id}") as listener:
        await listener.hears("end", reason="job-ended")
        assert [name for name, _, _ in listener.heard] == ["start", "job", "end"]


async def test_a_followed_job_that_is_deleted_is_gone(running: Running, store: Store, bearer: Bearer) -> None:
    job_id = (await store.run(operations.enqueue(new_job("echo", queue="mail")))).id

    async with running.listening(bearer(Role.OPERATOR), f"?job={job_id}") as listener:
        await listener.hears("job", status="ready")
        await store.run(operations.delete(job_id))
        await listener.hears("gone", event="job", key=job_id)
        await listener.hears("end", reason="job-gone")


@pytest.mark.parametrize(
    ("role", "query", "status"),
    [
        (Role.VIEWER, "?job=00000000-0000-4000-8000-000000000000", 404),
        (Role.VIEWER, "?job=nonsense", 404),
        (Role.VIEWER, "?job=x&topics=jobs", 400),
        (Role.PRODUCER, "?job=nonsense", 403),
    ],
)
async def test_a_job_that_cannot_be_followed_is_refused(
    running: Running, bearer: Bearer, role: Role, query: str, status: int
) -> None:
    async with running.listening(bearer(role), query) as listener:
        assert listener.answer.status_code == status


async def test_fifty_streams_ask_redis_no_more_than_one(
    running: Running, store: Store, bearer: Bearer, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = bearer(Role.VIEWER)
    await store.run(operations.enqueue(new_job("echo", queue="mail")))
    readings = 0
    asked = store.info

    async def counted() -> dict[str, Any]:
        nonlocal readings
        readings += 1
        return await asked()

    monkeypatch.setattr(store, "info", counted)
    opened = [running.listening(headers) for _ in range(50)]
    listeners = await asyncio.gather(*(one.__aenter__() for one in opened))
    await asyncio.gather(*(one.hears("synced") for one in listeners))
    assert running.app.state.live.topics == 1
    before = readings

    await store.run(operations.pause("mail"))
    await asyncio.gather(*(one.hears("queue", paused=True) for one in listeners))

    assert readings - before <= 3  # one is enough; a slow machine may come to its next turn meanwhile
    for one in opened:
        await one.__aexit__(None, None, None)
    await eventually(lambda: running.app.state.live.topics == 0, within_s=20)


async def test_of_eighty_streams_opened_at_once_an_account_has_sixty_and_their_places_come_back(
    running: Running, store: Store, bearer: Bearer
) -> None:
    job_id = (await store.run(operations.enqueue(new_job("echo", queue="mail")))).id
    headers, live = bearer(Role.VIEWER), running.app.state.live
    opened = [running.listening(headers, query) for query in ("", f"?job={job_id}") for _ in range(40)]
    listeners = await asyncio.gather(*(one.__aenter__() for one in opened))
    refused = [one.answer for one in listeners if one.answer.status_code == 503]

    assert len(refused) == len(opened) - MAX_STREAMS_PER_USER
    assert live.streams_of("viewer") == MAX_STREAMS_PER_USER
    assert {answer.json()["type"] for answer in refused} == {"urn:leaseforge:problem:too-many-streams"}
    assert all("retry-after" in answer.headers for answer in refused)
    await asyncio.gather(*(one.__aexit__(None, None, None) for one in opened))
    await eventually(lambda: live.streams_of("viewer") == live.topics == 0, within_s=20)


async def test_the_stream_of_a_job_that_has_ended_holds_no_place(
    running: Running, store: Store, bearer: Bearer
) -> None:
    job_id = await kill_job(store, "mail")

    async with running.listening(bearer(Role.VIEWER), f"?job={job_id}") as listener:
        await listener.hears("end")

    await eventually(lambda: running.app.state.live.streams_of("viewer") == 0, within_s=20)


async def test_the_metrics_tell_that_the_loops_behind_the_streams_go_round_though_nobody_listens(
    running: Running,
) -> None:
    page = (await running.client.get("/metrics")).text

    ages = dict(re.findall(r'^leaseforge_loop_age_seconds\{loop="(\w+)"\} (\S+)$', page, re.MULTILINE))
    assert {"live", "events"} <= ages.keys()


async def test_each_role_hears_what_it_may_read(running: Running, bearer: Bearer, admin: dict[str, str]) -> None:
    asked = {"name": "workers only", "permissions": ["workers:read"]}
    made = (await running.client.post("/api/tokens", json=asked, headers=admin)).json()
    narrow = {"Authorization": f"Bearer {made['token']}"}

    async with running.listening(narrow) as listener:
        assert await listener.hears("start") == {"topics": ["workers"], "resumed": False}
        await listener.hears("synced")
        assert {name for name, _, _ in listener.heard} == {"start", "synced"}
    for headers, query, status in (
        (narrow, "?topics=workers,jobs", 403),
        (bearer(Role.PRODUCER), "", 403),
        (narrow, "?topics=", 400),
        (narrow, "?topics=payloads", 400),
        (narrow, "?topic=jobs", 400),
        ({}, "", 401),
    ):
        async with running.listening(headers, query) as refused:
            assert refused.answer.status_code == status
            assert refused.answer.headers["content-type"] == "application/problem+json"


async def test_a_stream_ends_with_its_token_however_that_ends(
    running: Running, store: Store, bearer: Bearer, admin: dict[str, str], accounts_by_role: dict[Role, calls.Account]
) -> None:
    operator = accounts_by_role[Role.OPERATOR]
    short = TokenKeys([SECRET]).issue(operator.username, epoch=operator.epoch, ttl_s=1, now_s=time.time())
    made = (await running.client.post("/api/tokens", json={"name": "x", "role": "admin"}, headers=admin)).json()
    viewer, spent = bearer(Role.VIEWER), bearer(Role.ADMIN)

    async with (
        running.listening({"Authorization": f"Bearer {short}"}) as expired,
        running.listening(viewer) as disabled,
        running.listening({"Authorization": f"Bearer {made['token']}"}) as revoked,
        running.listening(spent) as logged_out,
        running.listening(admin) as unharmed,
    ):
        for one in (disabled, revoked, logged_out, unharmed):
            await one.hears("synced")
        await running.client.patch("/api/users/viewer", json={"disabled": True}, headers=admin)
        await running.client.delete(f"/api/tokens/{made['id']}", headers=admin)
        await running.client.post("/api/auth/logout", headers=spent)

        for one in (expired, disabled, revoked, logged_out):
            assert await one.hears("end") == {"reason": "not-authenticated"}
            await eventually(lambda one=one: one.is_over)  # type: ignore[misc]  # bound on purpose
        assert not unharmed.is_over


async def test_a_server_that_stops_ends_its_streams_at_once(running: Running, bearer: Bearer) -> None:
    async with running.listening(bearer(Role.VIEWER)) as listener:
        await listener.hears("synced")

        running.stop()

        assert await listener.hears("end") == {"reason": "stopping"}
        await running.stopped


async def test_trouble_is_told_and_what_was_missed_comes_later(
    running: Running, store: Store, bearer: Bearer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leaseforge.errors import StoreUnavailable

    async def away() -> dict[str, Any]:
        raise StoreUnavailable("Redis is away")

    async with running.listening(bearer(Role.VIEWER), "?topics=queues") as listener:
        await listener.hears("synced")
        with monkeypatch.context() as broken:
            broken.setattr(store, "info", away)
            assert "away" in (await listener.hears("trouble"))["detail"]
            await store.run(operations.enqueue(new_job("echo", queue="mail")))
        await listener.hears("queue", name="mail")


async def test_who_reads_too_slowly_is_told_all_there_is_anew(store: Store) -> None:
    feed = EventFeed()
    await store.run(operations.enqueue(new_job("echo", queue="mail")))

    async def read(workers: int) -> None:
        snapshot = Snapshot.of([], [])
        await feed._read(store, snapshot)
        feed._note({(topic, key): key for topic, key in _workers(workers)}, [], snapshot.now)

    await read(0)
    begun = feed.number
    for _ in range(2):
        await read(KEPT)
        await read(0)

    assert len(feed._once) <= KEPT
    assert feed.is_behind(begun)
    assert feed.number_of(f"{feed._run}-{begun}") == 0
    assert feed.number_of(f"{feed._run}-{feed.number}") == feed.number


def _workers(count: int) -> list[tuple[Any, str]]:
    from leaseforge_api.schemas.events import EventTopic

    return [(EventTopic.WORKERS, str(number)) for number in range(count)]
