"""The audit trail: nothing is lost between servers, and nobody without the secret can change what it says."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import redis

from leaseforge.errors import StoreError
from leaseforge.store import Store
from leaseforge_auth import keys
from leaseforge_auth.audit.action import new_action
from leaseforge_auth.audit.chain import Chain, Head
from leaseforge_auth.audit.entries import Entry, Result, Step
from leaseforge_auth.audit.search import Filter, Found, Row, export, search
from leaseforge_auth.audit.trail import AuditTrail
from leaseforge_auth.audit.verification import Verdict, verify
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role

SECRET = "0123456789abcdef0123456789abcdef"
OTHER = "another secret of thirty-two bytes"
ADA = Identity("ada", (Role.OPERATOR,), frozenset({Permission.QUEUES_WRITE}), "token")


@pytest.fixture
def redis_client(redis_url: str) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


def trail_of(store: Store, *, keep: int = 1_000, secrets: Sequence[str] = (SECRET,)) -> AuditTrail:
    return AuditTrail(store, Chain(secrets), keep=keep)


async def act(trail: AuditTrail, word: str = "queue.pause", target: str = "mail", *, status: int | None = 200) -> str:
    action = new_action(trail, word, address="203.0.113.7", path_parameters={"name": target}, request_id="r1")
    await action.begin(ADA, reason="too many mails")
    if status is not None:
        action.note(removed=3)
        assert await action.close(status)
    return action.id


async def found(store: Store, limit: int = 100, before: int | None = None, **wanted: object) -> Found:
    return await search(store, Filter(**wanted), before=before, limit=limit)  # type: ignore[arg-type]  # tests name fields


def entry_of(row: Row) -> Entry:
    assert row.entry is not None
    return row.entry


async def verdict(store: Store, *, expected: Head | None = None, secrets: Sequence[str] = (SECRET,)) -> Verdict:
    return await verify(store, Chain(secrets), expected=expected)


async def test_an_action_is_one_row_with_everything_that_is_known_of_it(store: Store) -> None:
    done = await act(trail_of(store))

    [row] = (await found(store)).rows
    entry = entry_of(row)
    assert (entry.id, entry.user, entry.roles, entry.credential) == (done, "ada", ("operator",), "token")
    assert (entry.action, entry.target, entry.reason, entry.address) == (
        "queue.pause",
        "mail",
        "too many mails",
        "203.0.113.7",
    )
    assert (entry.result, entry.status, entry.detail) == (Result.OK, 200, {"removed": 3})
    assert 0 < entry.began_at_ms <= entry.at_ms


async def test_an_action_that_never_ended_is_unknown(store: Store) -> None:
    trail = trail_of(store)
    lost = await act(trail, status=None)
    await act(trail, "queue.resume")

    rows = [entry_of(row) for row in (await found(store)).rows]
    assert [(row.action, row.result) for row in rows] == [("queue.resume", Result.OK), ("queue.pause", Result.UNKNOWN)]
    assert rows[1].id == lost
    assert len((await found(store, result=Result.UNKNOWN)).rows) == 1


@pytest.mark.parametrize(("status", "result"), [(303, Result.OK), (403, Result.REFUSED), (503, Result.FAILED)])
async def test_the_answer_decides_how_an_action_ended(store: Store, status: int, result: Result) -> None:
    await act(trail_of(store), status=status)

    assert entry_of((await found(store)).rows[0]).result is result


async def test_filters_narrow_and_pages_go_on(store: Store) -> None:
    trail = trail_of(store)
    for number in range(10):
        await act(trail, "queue.pause" if number % 2 else "job.delete", f"t{number}")

    assert len((await found(store, action="queue")).rows) == 5
    assert len((await found(store, action="queue.pause", target="t3")).rows) == 1
    assert not (await found(store, user="bob")).rows
    began = entry_of((await found(store, target="t5")).rows[0]).began_at_ms
    assert {entry_of(row).target for row in (await found(store, since_ms=began)).rows} >= {"t5", "t9"}
    seen: list[str] = []
    before = None
    while True:
        page = await found(store, limit=3, before=before)
        seen += [entry_of(row).target for row in page.rows]
        if page.next_before is None:
            break
        before = page.next_before
    assert seen == [f"t{number}" for number in reversed(range(10))]
    assert [entry_of(row).target async for row in export(store, Filter())] == [f"t{number}" for number in range(10)]


async def test_servers_that_write_at_once_lose_nothing_and_break_no_link(store: Store) -> None:
    trails = [trail_of(store) for _ in range(4)]

    await asyncio.gather(*(act(trail, target=f"t{n}") for n in range(20) for trail in trails))

    assert len((await found(store, limit=200)).rows) == 80
    result = await verdict(store)
    assert result.is_intact
    assert (result.checked, result.head.sequence) == (160, 160)


async def test_the_oldest_entries_go_and_leave_an_anchor(store: Store) -> None:
    trail = trail_of(store, keep=100)
    lost = await act(trail, status=None)
    await asyncio.gather(*(act(trail, target=f"t{n}") for n in range(400)))

    result = await verdict(store)
    assert result.is_intact
    assert result.checked <= 100 + 200
    assert result.head.sequence == 801
    assert not [row for row in (await found(store, limit=500)).rows if entry_of(row).id == lost]


async def _written(store: Store) -> Head:
    trail = trail_of(store)
    for number in range(5):
        await act(trail, target=f"t{number}")
    result = await verdict(store)
    assert result.is_intact
    return result.head


def _entries(client: "redis.Redis") -> list[tuple[bytes, dict[bytes, bytes]]]:
    entries: Any = client.xrange(keys.AUDIT)
    return list(entries)


def _put_back(client: "redis.Redis", entries: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
    client.delete(keys.AUDIT)
    for number, fields in entries:
        client.xadd(keys.AUDIT, fields, id=number)  # type: ignore[arg-type]  # bytes are fine


async def test_a_removed_entry_is_found(store: Store, redis_client: "redis.Redis") -> None:
    await _written(store)
    redis_client.xdel(keys.AUDIT, "4-0", "5-0")

    [finding] = (await verdict(store)).findings
    assert finding.sequence == 4
    assert "missing, and all up to 5" in finding.message


async def test_an_altered_entry_is_found(store: Store, redis_client: "redis.Redis") -> None:
    await _written(store)
    entries = _entries(redis_client)
    entries[3][1][b"body"] = entries[3][1][b"body"].replace(b"ada", b"bob")
    _put_back(redis_client, entries)

    findings = (await verdict(store)).findings
    assert [finding.sequence for finding in findings] == [4]


async def test_entries_in_another_order_are_found(store: Store, redis_client: "redis.Redis") -> None:
    await _written(store)
    entries = _entries(redis_client)
    entries[2], entries[4] = (entries[2][0], entries[4][1]), (entries[4][0], entries[2][1])
    _put_back(redis_client, entries)

    assert {finding.sequence for finding in (await verdict(store)).findings} >= {3, 5}


async def test_a_trail_cut_short_is_found_even_with_a_head_that_fits(store: Store, redis_client: "redis.Redis") -> None:
    head = await _written(store)
    entries = _entries(redis_client)
    redis_client.xdel(keys.AUDIT, "9-0", "10-0")
    assert [finding.sequence for finding in (await verdict(store)).findings] == [9]

    redis_client.hset(keys.AUDIT_HEAD, mapping={"sequence": "8", "mac": entries[7][1][b"mac"]})
    assert any("head" in finding.message for finding in (await verdict(store)).findings)
    assert any("not there any more" in finding.message for finding in (await verdict(store, expected=head)).findings)


async def test_a_beginning_that_was_cut_off_is_found_even_with_an_anchor_that_fits(
    store: Store, redis_client: "redis.Redis"
) -> None:
    await _written(store)
    entries = _entries(redis_client)
    redis_client.xdel(keys.AUDIT, "1-0", "2-0")
    redis_client.hset(
        keys.AUDIT_HEAD,
        mapping={"anchor_sequence": "2", "anchor_mac": entries[1][1][b"mac"], "anchor_seal": "x.y"},
    )

    [finding] = (await verdict(store)).findings
    assert "anchor" in finding.message


async def test_a_forged_entry_is_found(store: Store, redis_client: "redis.Redis") -> None:
    await _written(store)
    await act(trail_of(store, secrets=[OTHER]), target="forged")

    findings = (await verdict(store)).findings
    assert {finding.sequence for finding in findings} >= {11, 12}
    assert any("unknown key" in finding.message for finding in findings)


async def test_a_new_secret_goes_on_where_the_old_one_ended(store: Store) -> None:
    await _written(store)
    await act(trail_of(store, secrets=[OTHER, SECRET]))

    assert (await verdict(store, secrets=[OTHER, SECRET])).is_intact


async def test_a_head_that_was_lost_stops_nobody_from_writing(store: Store, redis_client: "redis.Redis") -> None:
    await _written(store)
    redis_client.delete(keys.AUDIT_HEAD)

    await act(trail_of(store))

    assert (await verdict(store)).is_intact


async def test_an_intent_that_cannot_be_written_stops_the_action(store: Store, redis_client: "redis.Redis") -> None:
    redis_client.set(keys.AUDIT, "foreign")

    with pytest.raises(StoreError):
        await act(trail_of(store), status=None)


async def test_a_detail_that_is_too_large_is_left_out(store: Store) -> None:
    action = new_action(trail_of(store), "queue.pause", address="", path_parameters={}, request_id="")
    await action.begin(ADA)
    action.note(everything="x" * 100_000)
    await action.close(200)

    assert entry_of((await found(store)).rows[0]).detail == {"detail": "too large"}


async def test_an_intent_says_the_same_as_its_outcome(store: Store) -> None:
    trail = trail_of(store)
    await act(trail)

    intent = await trail.append(Entry(id="x", step=Step.INTENT, at_ms=0, action="queue.pause"))
    assert intent.at_ms > 0
