"""A job from the command line."""

from pathlib import Path

import pytest

from leaseforge import reads
from leaseforge.store import SyncStore
from leaseforge_cli.exits import ExitCode
from tests.cli.conftest import Api, Run

pytestmark = pytest.mark.usefixtures("api")


def test_it_prints_the_id_of_a_job_as_it_was_asked_for(run: Run, api_store: SyncStore) -> None:
    options = "--queue cli.all --priority -3 --delay 5m --max-attempts 0 --timeout 30 --unique-key k --unique-ttl 1h"

    ended = run("enqueue", "echo", '{ "a":1.10 }', *options.split(), "--tag", "x", "--tag", "y")

    assert (ended.code, ended.err) == (ExitCode.OK, "")
    job = api_store.run(reads.job(ended.out.strip()))
    assert (job.queue, job.type, job.priority, job.state, job.tags) == ("cli.all", "echo", -3, "scheduled", ("x", "y"))
    assert job.payload == b'{ "a":1.10 }'
    assert (job.options.max_attempts, job.options.timeout_ms, job.unique_key) == (0, 30_000, "k")
    assert job.created_by == "admin"


def test_the_payload_may_come_from_the_input_or_a_file(run: Run, api_store: SyncStore, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_bytes(b'{"from": "\xc3\xa9"}\n')

    ids = [
        run("enqueue", "echo", "-", "--queue", "cli.input", stdin=b"[1,\n 2]\n").out.strip(),
        run("enqueue", "echo", f"@{file}", "--queue", "cli.input").out.strip(),
        run("enqueue", "echo", "--queue", "cli.input").out.strip(),
    ]

    assert [api_store.run(reads.job(one)).payload for one in ids] == [b"[1,\n 2]", b'{"from": "\xc3\xa9"}', b"{}"]


def test_json_is_the_answer_of_the_server(run: Run) -> None:
    job = run("enqueue", "echo", "7", "--queue", "cli.json", "--json").json()

    assert (job["status"], job["payload"]) == ("ready", 7)


def test_a_repeat_with_its_key_prints_the_first_id(run: Run) -> None:
    first, again = (run("enqueue", "echo", "--queue", "cli.key", "--idempotency-key", "k") for _ in range(2))

    assert (first.code, again.code) == (ExitCode.OK, ExitCode.OK)
    assert first.out == again.out
    assert "not new" in again.err
    assert "not new" not in first.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["{bad"], ExitCode.USAGE, "the payload is not JSON"),
        (["@/nowhere.json"], ExitCode.USAGE, "/nowhere.json cannot be read"),
        (["--delay", "soon"], ExitCode.USAGE, "must be from 0 to"),
        (["--queue", "a b"], ExitCode.FAILED, "queue: must be 1 to 64 of the characters"),
        (["--max-attempts", "-1"], ExitCode.FAILED, "max_attempts: must be a whole number"),
    ],
)
def test_what_is_wrong_is_one_line(run: Run, arguments: list[str], code: ExitCode, said: str) -> None:
    failed = run("enqueue", "echo", *arguments)

    assert (failed.code, failed.out) == (code, "")
    [line] = failed.err.splitlines()
    assert said in line


def test_another_job_under_a_used_key_is_a_conflict(run: Run, api: Api) -> None:
    run("enqueue", "echo", "1", "--queue", "cli.conflict", "--idempotency-key", "k")

    failed = run("enqueue", "echo", "2", "--queue", "cli.conflict", "--idempotency-key", "k")

    assert failed.code == ExitCode.CONFLICT
    assert "idempotency-conflict, request " in failed.err
