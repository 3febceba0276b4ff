"""`leaseforge audit`: an operator checks the trail and keeps a head outside of Redis."""

import asyncio
import json
import sys
from collections.abc import Callable

import pytest
import redis

from leaseforge.store import connect
from leaseforge_auth import keys
from leaseforge_auth.audit.action import new_action
from leaseforge_auth.audit.chain import Chain
from leaseforge_auth.audit.trail import AuditTrail
from leaseforge_cli.exits import ExitCode
from tests.support import Process

SECRET = "for-this-test-only-and-no-secret-of-anything"
Run = Callable[..., Process]


@pytest.fixture
def audit(processes: Callable[..., Process], redis_url: str) -> Run:
    def run(*arguments: str) -> Process:
        command = [sys.executable, "-c", "from leaseforge_cli.main import main; main()", "audit", *arguments]
        return processes(command, env={"LEASEFORGE_REDIS_URL": redis_url, "LEASEFORGE_AUTH_SECRET": SECRET})

    return run


def write(redis_url: str, count: int, *, secret: str = SECRET) -> None:
    async def act() -> None:
        async with connect(redis_url, retry_s=1.0) as store:
            trail = AuditTrail(store, Chain([secret]), keep=1_000)
            for number in range(count):
                action = new_action(
                    trail, "queue.pause", address="::1", path_parameters={"name": f"q{number}"}, request_id=""
                )
                await action.begin()
                await action.close(200)

    asyncio.run(act())


def test_an_intact_trail_is_said_to_be_and_leaves_a_head(audit: Run, redis_url: str) -> None:
    write(redis_url, 3)

    checked = audit("verify")

    assert checked.wait() == ExitCode.OK
    assert "intact: 6 entries, from 1 to 6" in checked.output()
    head = checked.output().rpartition("head: ")[2].split()[0]
    write(redis_url, 1)
    assert audit("verify", "--head", head).wait() == ExitCode.OK
    with redis.Redis.from_url(redis_url) as client:
        client.delete(keys.AUDIT, keys.AUDIT_HEAD, keys.AUDIT_OPEN)
    write(redis_url, 4)
    rewritten = audit("verify", "--head", head)
    assert rewritten.wait() == ExitCode.FAILED
    assert "noted down" in rewritten.output()


def test_a_removed_entry_is_named(audit: Run, redis_url: str) -> None:
    write(redis_url, 3)
    with redis.Redis.from_url(redis_url) as client:
        client.xdel(keys.AUDIT, "3-0")

    checked = audit("verify")

    assert checked.wait() == ExitCode.FAILED
    assert "entry 3: missing" in checked.output()


def test_another_secret_is_told_apart_from_tampering(audit: Run, redis_url: str) -> None:
    write(redis_url, 2, secret="another secret than the one that is given here")

    checked = audit("verify")

    assert checked.wait() == ExitCode.FAILED
    assert "all 4 entries are sealed with a key that is not among LEASEFORGE_AUTH_SECRET" in checked.output()
    assert "entry 1" not in checked.output()


def test_the_trail_is_written_out_as_lines(audit: Run, redis_url: str) -> None:
    write(redis_url, 2)

    written = audit("export")

    assert written.wait() == ExitCode.OK
    lines = [json.loads(line) for line in written.output().splitlines() if line.startswith("{")]
    assert [line["target"] for line in lines] == ["q0", "q1"]


def test_a_head_that_is_none_is_a_usage_error(audit: Run) -> None:
    assert audit("verify", "--head", "yesterday").wait() == ExitCode.USAGE
