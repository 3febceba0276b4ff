"""Errors that pass are waited out, errors that stay are told, and nothing of a call's contents is."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import redis

from leaseforge import operations, reads
from leaseforge.answers import Answer
from leaseforge.calls import Plan
from leaseforge.errors import ScriptFault, StoreFull, StoreUnavailable
from leaseforge.requests import new_job
from leaseforge.store.faults import is_retryable, translate
from leaseforge.store.pacing import pauses
from tests.support import eventually_sync, free_port
from tests.support.doors import Door, open_door
from tests.support.live_queue import LiveQueue
from tests.support.proxy import Proxy


@contextmanager
def later(heal: Callable[[], object], after: Callable[[], bool]) -> Iterator[None]:
    """Puts right what is wrong as soon as a call has met it."""
    thread = threading.Thread(target=lambda: (eventually_sync(after), heal()))
    thread.start()
    yield
    thread.join()


async def test_calls_go_on_after_every_connection_was_killed(door: Door, line: LiveQueue) -> None:
    line.add()
    await door.run(reads.queue(line.name))

    line.raw.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    assert await door.run(operations.pause(line.name)) is Answer.OK


async def test_calls_sent_together_go_on_after_every_connection_was_killed(door: Door, line: LiveQueue) -> None:
    ids = line.add_many(5)
    await door.run(reads.queue(line.name))

    line.raw.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    found = await door.run_many([reads.job_call(line.name, job_id) for job_id in ids])
    assert [job and job.id for job in found] == ids


async def test_a_server_that_comes_back_in_time_is_waited_for(kind: str, line: LiveQueue, proxy: Proxy) -> None:
    line.add()
    door = open_door(kind, proxy.url(line.url), retry_s=30.0)
    proxy.refuse = True

    def let_in() -> None:
        proxy.refuse = False

    with later(let_in, lambda: proxy.connections >= 3):
        assert await door.run(operations.pause(line.name)) is Answer.OK
    await door.aclose()


async def test_a_server_that_stays_away_is_reported_without_the_password(kind: str) -> None:
    port = free_port()
    door = open_door(kind, f"redis://user:secret-word@127.0.0.1:{port}/0", retry_s=0.05)

    for attempt in (door.run(operations.pause("line")), door.run_many([reads.job_call("line", "x")]), door.ping()):
        with pytest.raises(StoreUnavailable) as told:
            await attempt
        assert "secret-word" not in str(told.value)
    await door.aclose()


async def test_a_server_that_does_not_answer_is_given_up_and_asked_again(
    kind: str, line: LiveQueue, proxy: Proxy
) -> None:
    line.add()
    door = open_door(kind, proxy.url(line.url), retry_s=30.0, timeout_s=0.2)
    await door.run(reads.queue(line.name))
    proxy.mute = True
    seen = proxy.connections

    def speak() -> None:
        proxy.mute = False

    with later(speak, lambda: proxy.connections > seen):
        assert await door.run(operations.pause(line.name)) in (Answer.OK, Answer.ALREADY_DONE)
    await door.aclose()


async def test_a_read_only_server_is_waited_for(kind: str, own_line: LiveQueue) -> None:
    own_line.add()
    own_line.raw.execute_command("REPLICAOF", "127.0.0.1", free_port())
    door = open_door(kind, own_line.url, retry_s=30.0)

    before = refusals(own_line.raw, "READONLY")
    with later(lambda: own_line.raw.execute_command("REPLICAOF", "NO", "ONE"), lambda: refused(own_line, before)):
        assert await door.run(operations.pause(own_line.name)) is Answer.OK
    await door.aclose()


async def test_missing_replicas_are_waited_for(kind: str, own_line: LiveQueue) -> None:
    own_line.add()
    own_line.raw.config_set("min-replicas-to-write", 1)
    door = open_door(kind, own_line.url, retry_s=30.0)

    before = refusals(own_line.raw, "NOREPLICAS")
    with later(
        lambda: own_line.raw.config_set("min-replicas-to-write", 0), lambda: refused(own_line, before, "NOREPLICAS")
    ):
        assert await door.run(operations.pause(own_line.name)) is Answer.OK
    await door.aclose()


async def test_a_server_held_up_by_a_script_is_waited_for(kind: str, own_line: LiveQueue) -> None:
    own_line.add()
    own_line.raw.config_set("busy-reply-threshold", 1)
    door = open_door(kind, own_line.url, retry_s=30.0)
    endless = threading.Thread(target=run_for_ever, args=(own_line.url,))
    endless.start()
    eventually_sync(lambda: is_busy(own_line.raw))

    with later(own_line.raw.script_kill, lambda: True):
        assert await door.run(operations.pause(own_line.name)) is Answer.OK
    endless.join()
    own_line.raw.config_set("busy-reply-threshold", 5000)
    await door.aclose()


async def test_a_defect_is_told_and_not_tried_again(kind: str, line: LiveQueue) -> None:
    line.raw.set(line.key("meta"), b"foreign")
    door = open_door(kind, line.url, retry_s=3600.0)

    with pytest.raises(ScriptFault, match="WRONGTYPE"):
        await door.run(operations.pause(line.name))

    line.raw.delete(line.key("meta"))
    await door.aclose()


async def test_a_plan_hears_of_a_failure_where_it_happened(door: Door, line: LiveQueue) -> None:
    line.raw.set(line.key("meta"), b"foreign")

    def plan() -> Plan[Answer]:
        try:
            return (yield from operations.pause(line.name))
        except ScriptFault:
            line.raw.delete(line.key("meta"))
            return (yield from operations.enqueue(new_job("work", queue=line.name))).answer

    assert await door.run(plan()) is Answer.CREATED


async def test_one_failure_among_calls_sent_together_is_raised(door: Door, line: LiveQueue) -> None:
    job_id = line.add()
    healthy = reads.job_call(line.name, job_id)

    with pytest.raises(ScriptFault):
        await door.run_many([healthy, replace(healthy, args=()), healthy])


@pytest.mark.parametrize(
    ("error", "retryable", "told"),
    [
        (redis.exceptions.ConnectionError("Connection refused"), True, StoreUnavailable),
        (redis.exceptions.TimeoutError("Timeout reading"), True, StoreUnavailable),
        (redis.exceptions.BusyLoadingError("Redis is loading the dataset in memory"), True, StoreUnavailable),
        (redis.exceptions.ReadOnlyError("You can't write against a read only replica."), True, StoreUnavailable),
        (redis.exceptions.ResponseError("NOREPLICAS Not enough good replicas to write."), True, StoreUnavailable),
        (redis.exceptions.ResponseError("BUSY Redis is busy running a script."), True, StoreUnavailable),
        (redis.exceptions.TryAgainError("Multiple keys request during rehashing of slot"), True, StoreUnavailable),
        (redis.exceptions.ClusterDownError("CLUSTERDOWN The cluster is down"), True, StoreUnavailable),
        (redis.exceptions.MasterDownError("MASTERDOWN Link with MASTER is down"), True, StoreUnavailable),
        (redis.exceptions.ResponseError("UNBLOCKED force unblock from blocking operation"), True, StoreUnavailable),
        (redis.exceptions.ResponseError("Script killed by user with SCRIPT KILL."), True, StoreUnavailable),
        (OSError("no route"), True, StoreUnavailable),
        (redis.exceptions.AuthenticationError("invalid username-password pair"), False, StoreUnavailable),
        (redis.exceptions.NoPermissionError("this user has no permissions"), False, StoreUnavailable),
        (redis.exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), False, StoreFull),
        (redis.exceptions.ResponseError("MISCONF Redis is configured to save RDB snapshots"), False, StoreFull),
        (redis.exceptions.ResponseError("WRONGTYPE Operation against a key"), False, ScriptFault),
        (redis.exceptions.ResponseError("ERR unknown command"), False, ScriptFault),
    ],
    ids=lambda value: str(value)[:30],
)
def test_each_fault_of_redis_has_its_word_here(error: Exception, retryable: bool, told: type[Exception]) -> None:
    assert is_retryable(error) is retryable
    assert type(translate(error)) is told


def test_pauses_grow_to_their_bound_and_are_never_equal_by_rule() -> None:
    endless = pauses(0.02, 1.0)
    drawn = [next(endless) for _ in range(12)]

    for place, pause_s in enumerate(drawn):
        bound = min(1.0, 0.02 * 2**place)
        assert bound / 2 <= pause_s <= bound


def refusals(client: redis.Redis, prefix: str) -> int:
    return int(client.info("errorstats").get(f"errorstat_{prefix}", {}).get("count", 0))


def refused(line: LiveQueue, before: int, prefix: str = "READONLY") -> bool:
    return refusals(line.raw, prefix) > before


def run_for_ever(url: str) -> None:
    with redis.Redis.from_url(url) as client, pytest.raises(redis.ResponseError):
        client.eval("while true do end", 0)


def is_busy(client: redis.Redis) -> bool:
    try:
        client.ping()
    except redis.ResponseError:
        return True
    return False
