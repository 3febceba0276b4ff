"""Jobs from the command line."""

from itertools import count

import pytest

from leaseforge import exchanges, operations, reads
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from leaseforge_cli.exits import ExitCode
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("api")
NUMBERS = count(1)
GONE = "00000000-0000-4000-8000-000000000000"


def add(store: SyncStore, queue: str, **fields: object) -> str:
    return store.run(operations.enqueue(new_job("echo", {"a": 1}, queue=queue, **fields))).id  # type: ignore[arg-type]


def kill(store: SyncStore, queue: str, *, message: str = "no such address") -> str:
    """A job that failed for good."""
    add(store, queue)
    exchange = exchanges.exchange(queue, run_id="cli", number=next(NUMBERS), lease_ms=60_000, want=1)
    [claimed] = store.run(exchange).claimed
    failed = Settlement(
        claimed.id, claimed.token, Outcome.FAIL, error_kind="ValueError", error_message=message, max_attempts=1
    )
    store.run(
        exchanges.exchange(queue, run_id="cli", number=next(NUMBERS), lease_ms=60_000, want=0, settlements=[failed])
    )
    return claimed.id


def state(store: SyncStore, job_id: str) -> JobState:
    return store.run(reads.job(job_id)).state


def test_a_job_is_shown_with_its_failed_attempts(run: Run, api_store: SyncStore) -> None:
    job_id = kill(api_store, "cli.shown")

    shown = run("jobs", "show", job_id)

    fields = [line.split(maxsplit=1) for line in shown.out.splitlines()]
    assert ["status", "dead"] in fields
    assert ["payload", '{"a":1}'] in fields
    assert any(field[0] == "attempt" for field in fields if field)
    assert "ValueError: no such address" in shown.out
    assert run("jobs", "show", job_id, "--json").json()["history"][0]["outcome"] == "failed"


def test_jobs_are_listed_by_what_is_asked_for(run: Run, api_store: SyncStore) -> None:
    dead = kill(api_store, "cli.listed", message="no such \x1b[2J\x9b31m\u202eaddress")
    ready = [add(api_store, "cli.listed", tags=["blue"]) for _ in range(3)]

    def ids(*arguments: str) -> list[str]:
        return [
            line.split()[0] for line in run("jobs", "list", "--queue", "cli.listed", *arguments).out.splitlines()[1:]
        ]

    assert ids() == [*ready, dead]
    assert ids("--state", "dead") == [dead]
    assert ids("--state", "ready", "--state", "dead") == [*ready, dead]
    assert ids("--tag", "blue", "--limit", "2") == ready[:2]
    assert ids("--error", "ADDRESS") == [dead]
    assert ids("--type", "other") == []
    assert "\x1b" not in run("jobs", "list", "--queue", "cli.listed").out
    assert run("jobs", "list", "--queue", "cli.listed", "--json").out.isascii()
    assert run("jobs", "list", "--queue", "cli.listed", "--limit", "1").err == "1 of 4 jobs: --limit shows more\n"
    assert run("jobs", "list", "--queue", "cli.listed", "--json").json()["total"] == 4


def test_dead_jobs_are_retried_each_for_itself(run: Run, api_store: SyncStore) -> None:
    dead = kill(api_store, "cli.retry")
    ready = add(api_store, "cli.retry.ready")

    ended = run("jobs", "retry", GONE, ready, dead, "--reason", "fixed")

    assert ended.code == ExitCode.NOT_FOUND
    assert ended.out == f"{dead} is ready\n"
    assert [line.partition(":")[0] for line in ended.err.splitlines()] == [GONE, ready]
    assert state(api_store, dead) is JobState.READY


def test_jobs_are_cancelled_requeued_and_deleted(run: Run, api_store: SyncStore) -> None:
    job_id = add(api_store, "cli.life")

    assert run("jobs", "cancel", job_id, "--yes").code == ExitCode.OK
    assert state(api_store, job_id) is JobState.CANCELLED
    assert run("jobs", "requeue", job_id).code == ExitCode.OK
    assert state(api_store, job_id) is JobState.READY
    assert run("jobs", "delete", job_id).code == ExitCode.USAGE
    assert state(api_store, job_id) is JobState.READY
    assert run("jobs", "delete", job_id, "--yes", "--reason", "test").out == f"{job_id} is gone\n"
    assert run("jobs", "show", job_id).code == ExitCode.NOT_FOUND


def test_a_job_that_cannot_be_requeued_is_a_conflict(run: Run, api_store: SyncStore) -> None:
    job_id = add(api_store, "cli.conflict")

    failed = run("jobs", "requeue", job_id)

    assert failed.code == ExitCode.CONFLICT
    assert "invalid-transition, request " in failed.err


def test_what_a_job_logged_is_printed(run: Run, api_store: SyncStore) -> None:
    job_id = add(api_store, "cli.log")

    assert run("jobs", "log", job_id).out.split() == ["at", "line"]
    assert run("jobs", "log", job_id, "--json").json()["items"] == []
