"""Dead letters from the command line."""

import pytest

from leaseforge.jobs import JobState
from leaseforge.store import SyncStore
from leaseforge_cli.exits import ExitCode
from tests.cli.conftest import Run
from tests.cli.test_jobs import add, kill, state

pytestmark = pytest.mark.usefixtures("api")


def test_dead_jobs_are_listed_and_grouped(run: Run, api_store: SyncStore) -> None:
    first = kill(api_store, "cli.dlq", message="order 17 is lost")
    second = kill(api_store, "cli.dlq", message="order 18 is lost")
    other = kill(api_store, "cli.dlq", message="no such address")

    listed = run("dlq", "list", "--queue", "cli.dlq")
    groups = run("dlq", "groups", "--queue", "cli.dlq", "--json").json()["items"]

    assert {line.split()[0] for line in listed.out.splitlines()[1:]} == {first, second, other}
    assert "ValueError: no such address" in listed.out
    assert [group["size"] for group in groups] == [2, 1]
    of_group = run("dlq", "list", "--queue", "cli.dlq", "--group", groups[0]["key"], "--json").json()
    assert {job["id"] for job in of_group["items"]} == {first, second}
    assert groups[0]["key"] in run("dlq", "groups", "--queue", "cli.dlq").out


def test_dead_jobs_are_retried_and_deleted(run: Run, api_store: SyncStore) -> None:
    retried, deleted = kill(api_store, "cli.dlq.act"), kill(api_store, "cli.dlq.act.too")
    ready = add(api_store, "cli.dlq.act.ready")

    assert run("dlq", "retry", retried).out == f"{retried} is ready\n"
    assert state(api_store, retried) is JobState.READY
    assert run("dlq", "delete", deleted, ready, "--yes").code == ExitCode.CONFLICT
    assert run("jobs", "show", deleted).code == ExitCode.NOT_FOUND
    assert state(api_store, ready) is JobState.READY


def test_a_purge_counts_first_and_keeps_to_its_queue(run: Run, api_store: SyncStore) -> None:
    kill(api_store, "cli.dlq.purge")
    kill(api_store, "cli.dlq.purge", message="another")
    kept = kill(api_store, "cli.dlq.kept")

    refused = run("dlq", "purge", "--queue", "cli.dlq.purge")

    assert refused.code == ExitCode.USAGE
    assert "Remove 2 dead jobs of cli.dlq.purge for good?" in refused.err
    assert run("dlq", "purge", "--queue", "cli.dlq.purge", "--yes", "--reason", "test").out == "removed 2 jobs\n"
    assert state(api_store, kept) is JobState.DEAD
    assert run("dlq", "purge", "--queue", "nowhere", "--yes").code == ExitCode.NOT_FOUND
