"""check(): a server that would lose jobs is refused before it is used, by the name of the setting."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from leaseforge import events
from leaseforge.errors import StoreUnavailable, StoreUnsuitable
from leaseforge.store.checks import check_report
from tests.support import free_port
from tests.support.doors import open_door
from tests.support.live_queue import LiveQueue

GOOD: dict[str, Any] = {
    "redis_version": "7.0.15",
    "maxmemory_policy": "noeviction",
    "role": "master",
    "aof_enabled": 1,
}


@contextmanager
def configured(line: LiveQueue, name: str, value: str) -> Iterator[None]:
    [before] = line.raw.config_get(name).values()
    line.raw.config_set(name, value)
    yield
    line.raw.config_set(name, before)


@pytest.mark.parametrize("version", ["7.0.0", "7.0.15", "7.2.4", "8.0", "10.1.3"])
def test_a_server_that_is_new_enough_passes(version: str) -> None:
    with capture_logs() as logged:
        check_report(GOOD | {"redis_version": version})

    assert logged == []


@pytest.mark.parametrize(
    ("report", "told"),
    [
        ({"redis_version": "6.2.14"}, "Redis 6.2.14 is too old: 7.0 or newer"),
        ({"redis_version": "2.8"}, "too old"),
        ({"redis_version": "unknown"}, "too old"),
        ({"maxmemory_policy": "allkeys-lru"}, "maxmemory-policy to noeviction \\(it is allkeys-lru\\)"),
        ({"maxmemory_policy": "volatile-ttl"}, "maxmemory-policy"),
        ({"role": "slave"}, "read-only replica"),
    ],
    ids=str,
)
def test_a_server_that_would_lose_jobs_is_refused(report: dict[str, Any], told: str) -> None:
    with pytest.raises(StoreUnsuitable, match=told):
        check_report(GOOD | report)


def test_a_report_without_a_version_is_refused_and_one_without_the_rest_is_not() -> None:
    check_report({"redis_version": "7.0"})

    with pytest.raises(StoreUnsuitable):
        check_report({})


def test_a_server_without_an_append_only_file_is_used_with_a_warning() -> None:
    with capture_logs() as logged:
        check_report(GOOD | {"aof_enabled": 0})

    [warning] = logged
    assert (warning["event"], warning["log_level"]) == (events.STORE_UNSAFE, "warning")
    assert "appendonly" in warning["detail"]


async def test_an_empty_server_is_marked_and_found_suitable_again(kind: str, own_line: LiveQueue) -> None:
    door = open_door(kind, own_line.url)

    await door.check()
    await door.check()

    assert own_line.raw.get("lf:{sys}:schema") == b"1"
    await door.aclose()


@pytest.mark.parametrize("version", [b"2", b"0", b"", b"\xff"])
async def test_data_of_another_layout_is_left_alone(kind: str, own_line: LiveQueue, version: bytes) -> None:
    own_line.raw.set("lf:{sys}:schema", version)
    door = open_door(kind, own_line.url)

    with pytest.raises(StoreUnsuitable, match=r"layout version .* this program needs 1"):
        await door.check()

    assert own_line.raw.get("lf:{sys}:schema") == version
    await door.aclose()


async def test_an_evicting_server_is_refused(kind: str, own_line: LiveQueue) -> None:
    door = open_door(kind, own_line.url)

    with configured(own_line, "maxmemory-policy", "allkeys-lfu"), pytest.raises(StoreUnsuitable, match="allkeys-lfu"):
        await door.check()

    assert own_line.raw.exists("lf:{sys}:schema") == 0
    await door.aclose()


async def test_a_replica_is_refused(kind: str, own_line: LiveQueue) -> None:
    own_line.raw.execute_command("REPLICAOF", "127.0.0.1", free_port())
    door = open_door(kind, own_line.url)

    with pytest.raises(StoreUnsuitable, match="replica"):
        await door.check()

    own_line.raw.execute_command("REPLICAOF", "NO", "ONE")
    await door.aclose()


async def test_a_server_that_is_away_is_not_unsuitable(kind: str) -> None:
    door = open_door(kind, f"redis://127.0.0.1:{free_port()}/0", retry_s=0.0)

    with pytest.raises(StoreUnavailable):
        await door.check()
    with pytest.raises(StoreUnavailable):
        await door.ping()
    await door.aclose()


async def test_a_wrong_password_is_told_as_such_and_not_tried_again(kind: str, own_line: LiveQueue) -> None:
    with configured(own_line, "requirepass", "right"):
        url = own_line.url.replace("redis://", "redis://:wrong-word@")
        door = open_door(kind, url, retry_s=3600.0)

        with pytest.raises(StoreUnavailable, match="refuses our credentials") as told:
            await door.check()

        assert "wrong-word" not in str(told.value)
        own_line.raw.execute_command("AUTH", "right")
        await door.aclose()
