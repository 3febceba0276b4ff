"""Queues from the command line."""

import pytest

from leaseforge import operations
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from leaseforge_cli.exits import ExitCode
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("api")


def fill(store: SyncStore, queue: str, jobs: int) -> None:
    store.run(operations.enqueue_many([new_job("echo", queue=queue) for _ in range(jobs)]))


def test_a_list_is_a_table_with_a_line_for_each_queue(run: Run, api_store: SyncStore) -> None:
    fill(api_store, "cli.list.a", 3)
    fill(api_store, "cli.list.b", 1)

    ended = run("queues", "list", "--limit", "1000")

    header, *lines = ended.out.splitlines()
    assert header.split()[:3] == ["queue", "paused", "ready"]
    assert [line.split()[:3] for line in lines if line.startswith("cli.list.")] == [
        ["cli.list.a", "no", "3"],
        ["cli.list.b", "no", "1"],
    ]
    assert ended.err == ""


def test_a_list_that_is_cut_says_so_apart_from_the_table(run: Run, api_store: SyncStore) -> None:
    fill(api_store, "cli.cut.a", 1)
    fill(api_store, "cli.cut.b", 1)

    ended = run("queues", "list", "--limit", "1")

    assert len(ended.out.splitlines()) == 2
    assert "--limit shows more" in ended.err


def test_a_queue_is_shown_as_fields_or_as_the_server_answers(run: Run, api_store: SyncStore) -> None:
    fill(api_store, "cli.show", 2)

    assert ["ready", "2"] in [line.split() for line in run("queues", "show", "cli.show").out.splitlines()]
    shown = run("queues", "show", "cli.show", "--json").json()
    assert (shown["name"], shown["counts"]["ready"]) == ("cli.show", 2)


def test_a_queue_is_paused_and_resumed(run: Run, api_store: SyncStore) -> None:
    fill(api_store, "cli.pause", 1)

    assert run("queues", "pause", "cli.pause", "--reason", "printer on fire").out == "cli.pause is paused\n"
    assert run("queues", "pause", "cli.pause", "--json").json()["paused"] is True
    assert run("queues", "resume", "cli.pause").out == "cli.pause is not paused\n"


def test_a_purge_is_not_done_where_nobody_can_be_asked(run: Run, api_store: SyncStore) -> None:
    fill(api_store, "cli.ask", 1200)

    refused = run("queues", "purge", "cli.ask")

    assert refused.code == ExitCode.USAGE
    assert "Remove 1,200 ready jobs of cli.ask for good?" in refused.err
    assert run("queues", "show", "cli.ask", "--json").json()["counts"]["ready"] == 1200


def test_a_purge_removes_what_was_counted(run: Run, api_store: SyncStore) -> None:
    fill(api_store, "cli.purge", 3)

    assert run("queues", "purge", "cli.purge", "--yes").out == "removed 3 jobs\n"
    assert run("queues", "purge", "cli.purge", "--yes", "--json").json() == {"removed": 0}


@pytest.mark.parametrize("verb", ["show", "pause", "purge"])
@pytest.mark.parametrize("name", ["nowhere", "../jobs", "a/b?c"])
def test_a_queue_nobody_has_is_not_found(run: Run, verb: str, name: str) -> None:
    failed = run("queues", verb, name)

    assert failed.code in (ExitCode.NOT_FOUND, ExitCode.FAILED)
    assert failed.err.count("\n") == 1


def test_questions_are_asked_on_a_terminal(run: Run, api_store: SyncStore, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(api_store, "cli.terminal", 1)
    asked: list[str] = []

    def decline(question: str, **_: object) -> bool:
        asked.append(question)
        return False

    monkeypatch.setattr("leaseforge_cli.client_output.can_ask", lambda: True)
    monkeypatch.setattr("click.confirm", decline)

    declined = run("queues", "purge", "cli.terminal")

    assert declined.code == ExitCode.FAILED
    assert declined.err == "leaseforge: nothing was done\n"
    assert asked == ["Remove 1 ready job of cli.terminal for good?"]
