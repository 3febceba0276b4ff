"""A worker inside a program: started beside it, stopped by it, and honest about what went wrong."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from leaseforge import Client, Context, JobState, Registry, forms, task
from leaseforge.errors import SettingsError, StoreUnavailable
from leaseforge.store import connect_sync
from leaseforge.tasks import TaskError
from leaseforge_worker import attempt
from leaseforge_worker.background import Startable
from leaseforge_worker.health import AddressInUse
from leaseforge_worker.program import program_settings
from leaseforge_worker.queues import QueueChoice, parse_queues
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.worker import OK, Worker
from tests.support import eventually_sync, free_port


@task
async def double(ctx: Context, payload: int) -> int:
    return 2 * payload


@pytest.fixture
def client(redis_url: str) -> Iterator[Client]:
    with Client(redis_url) as made:
        yield made


def completed(client: Client, job_id: str) -> bytes | None:
    job = client.job(job_id)
    assert job.state is JobState.COMPLETED
    return job.result


@pytest.mark.parametrize("queues", ["default", "*"])
def test_a_started_worker_claims_and_leaves_in_order(client: Client, redis_url: str, queues: str) -> None:
    with Worker.of([double], redis_url=redis_url, queues=queues) as worker:
        assert worker.is_claiming
        job_id = client.enqueue("double", 21).id
        assert eventually_sync(lambda: completed(client, job_id)) == b"42"

    assert worker.stop() == OK
    assert not [thread.name for thread in threading.enumerate() if thread.name in ("worker", "renewal")]


def test_a_worker_tells_what_its_payloads_look_like(client: Client, redis_url: str) -> None:
    with Worker.of([double], redis_url=redis_url, queues="default"), connect_sync(redis_url) as store:
        assert eventually_sync(lambda: store.run(forms.form_of("double")) or False) == b'{"type":"integer"}'


def test_it_starts_and_stops_in_threads_that_are_not_the_main_one(client: Client, redis_url: str) -> None:
    worker = Worker(WorkerSettings(redis_url=redis_url, metrics_address=None), Registry([double]))
    starter = threading.Thread(target=worker.start)
    starter.start()
    starter.join(20)
    job_id = client.enqueue("double", 4).id
    eventually_sync(lambda: completed(client, job_id))

    statuses: list[int] = []
    stoppers = [threading.Thread(target=lambda: statuses.append(worker.stop())) for _ in range(3)]
    for thread in stoppers:
        thread.start()
    for thread in stoppers:
        thread.join(20)

    assert statuses == [OK] * 3


def test_stop_waits_until_what_runs_is_done(client: Client, redis_url: str) -> None:
    begun, release = threading.Event(), threading.Event()

    @task
    def slow(ctx: Context) -> str:
        begun.set()
        release.wait(20)
        return "done"

    worker = Worker.of([slow], redis_url=redis_url).start()
    job_id = client.enqueue("slow").id
    assert begun.wait(10)
    worker.ask_to_stop()
    assert client.job(job_id).state is JobState.RUNNING
    release.set()

    assert worker.stop() == OK
    assert completed(client, job_id) == b'"done"'


def test_start_raises_what_run_would_raise(redis_url: str) -> None:
    nobody = Worker.of([double], redis_url=f"redis://127.0.0.1:{free_port()}/0")
    with pytest.raises(StoreUnavailable):
        nobody.start()

    with Worker.of([double], redis_url=redis_url, metrics_address="127.0.0.1:0") as worker:
        assert worker.health_address is not None
        busy = Worker.of([double], redis_url=redis_url, metrics_address="{}:{}".format(*worker.health_address))
        with pytest.raises(AddressInUse):
            busy.start()


def test_an_isolated_task_that_no_child_process_can_find_is_refused_at_once(redis_url: str) -> None:
    @task(isolate=True)
    def inside(ctx: Context) -> None: ...

    with pytest.raises(TaskError, match="'inside' cannot run in a child process: it is made inside a function"):
        Worker.of([inside], redis_url=redis_url)


class Crashing(Startable):
    """Claims, and crashes when it is asked to stop."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    @property
    def is_claiming(self) -> bool:
        return True

    def ask_to_stop(self) -> None:
        self.asked.set()

    async def _run(self) -> int:
        await asyncio.to_thread(self.asked.wait, 20)
        raise LookupError("crashed")


def test_what_ended_a_worker_is_raised_to_everybody_who_stops_it() -> None:
    worker = Crashing().start()

    for _ in range(2):
        with pytest.raises(LookupError, match="crashed"):
            worker.stop()
    with pytest.raises(LookupError, match="crashed"), Crashing():
        pass


def test_a_worker_runs_once(redis_url: str) -> None:
    worker = Worker.of([double], redis_url=redis_url)
    with worker, pytest.raises(RuntimeError, match="runs once"):
        worker.start()
    with pytest.raises(RuntimeError, match="runs once"):
        asyncio.run(worker.run())


def test_a_worker_that_never_started_has_nothing_to_wait_for(redis_url: str) -> None:
    worker = Worker.of([double], redis_url=redis_url)

    assert (worker.stop(), worker.stop()) == (OK, OK)


def test_a_handler_on_the_workers_loop_is_told_that_it_cannot_wait_for_its_own_end(
    client: Client, redis_url: str
) -> None:
    @task(max_attempts=1)
    async def quits(ctx: Context) -> None:
        worker.stop()

    worker = Worker.of([quits], redis_url=redis_url).start()
    job_id = client.enqueue("quits").id
    eventually_sync(lambda: client.job(job_id).state is JobState.DEAD)

    assert worker.stop() == OK  # the handler has asked, although it could not wait
    error = client.job(job_id).error
    assert error is not None
    assert "use ask_to_stop()" in error.message


def test_a_coroutine_that_does_not_end_does_not_hold_up_stop(
    client: Client, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "GRACE_S", 0.05)
    begun = threading.Event()

    @task
    async def stubborn(ctx: Context) -> None:
        begun.set()
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    worker = Worker.of([stubborn], redis_url=redis_url, drain_s=0).start()
    job_id = client.enqueue("stubborn").id
    assert begun.wait(10)

    assert worker.stop() == OK
    assert client.job(job_id).state is JobState.READY


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({"queues": "a,b"}, WorkerSettings(queues=QueueChoice(("a", "b")))),
        ({"queues": ("a", "b")}, WorkerSettings(queues=QueueChoice(("a", "b")))),
        ({"queues": {"a": 3, "b": 1}}, WorkerSettings(queues=parse_queues("a=3,b=1"))),
        ({"queues": None, "concurrency": 3}, WorkerSettings(concurrency=3)),
        ({"lease_s": 2.5, "metrics_address": "off"}, WorkerSettings(lease_s=2.5, metrics_address=None)),
    ],
)
def test_a_programs_settings_are_read_by_the_rules_of_the_environment(
    given: dict[str, Any], settings: WorkerSettings
) -> None:
    assert program_settings(**given) == settings


def test_every_wrong_setting_is_told_at_once() -> None:
    with pytest.raises(SettingsError) as told:
        Worker.of([double], redis_url="http://x", queues=("a", "a"), concurrency=0, lease_s=float("nan"))

    assert [problem.field for problem in told.value.problems] == ["redis_url", "queues", "concurrency", "lease_s"]


def test_log_lines_are_the_programs_business(redis_url: str) -> None:
    before = structlog.get_config()

    with Worker.of([double], redis_url=redis_url):
        pass

    assert structlog.get_config() == before
