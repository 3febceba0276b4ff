"""`leaseforge wait-for-redis` on a server that comes late, one that is not fit for use, and one that never comes."""

import signal
from collections.abc import Callable
from pathlib import Path

import redis

from leaseforge.embedded import EmbeddedServer
from leaseforge.keys import system_key
from leaseforge_cli.exits import ExitCode
from tests.cli.conftest import LEASEFORGE
from tests.support import Process

Start = Callable[..., Process]


def waiting(processes: Start, url: str, *options: str) -> Process:
    return processes([*LEASEFORGE, "wait-for-redis", *options], env={"LEASEFORGE_REDIS_URL": url})


def test_it_ends_well_once_redis_is_there(processes: Start, tmp_path: Path) -> None:
    late = EmbeddedServer(tmp_path / "redis")
    process = waiting(processes, late.url)
    process.wait_for_output("waiting for Redis: ")
    late.start()
    try:
        code = process.wait(within_s=60)
    finally:
        late.stop()

    assert code == ExitCode.OK, process.output()
    assert "Redis can be used: " in process.output()


def test_a_password_is_not_said_and_the_end_of_patience_is_told(processes: Start, tmp_path: Path) -> None:
    process = waiting(processes, f"unix://ada:hush@{tmp_path}/none.sock", "--timeout", "0")

    assert process.wait(within_s=60) == ExitCode.STORE_UNAVAILABLE
    assert "Redis was not there within 0 s" in process.output()
    assert "hush" not in process.output()


def test_what_waiting_does_not_mend_ends_it_at_once(processes: Start, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.set(system_key("schema"), 999)
    process = waiting(processes, redis_url)

    assert process.wait(within_s=60) == ExitCode.STORE_UNSUITABLE
    assert "layout version 999" in process.output()


def test_a_pod_that_is_deleted_meanwhile_does_not_wait_for_it(processes: Start, tmp_path: Path) -> None:
    process = waiting(processes, f"unix://{tmp_path}/none.sock")
    process.wait_for_output("waiting for Redis: ")
    process.signal(signal.SIGTERM)

    assert process.wait(within_s=60) == 128 + signal.SIGTERM
