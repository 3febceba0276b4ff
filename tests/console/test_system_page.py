from dataclasses import replace
from typing import Any

import pytest
import redis

from leaseforge.keys import queue_key
from leaseforge.store import Store
from leaseforge.store.server import Memory, Persistence, ServerReport, SlowCall
from leaseforge_console.views import system
from leaseforge_console.views.snapshot import Snapshot
from tests.api.support import kill_job
from tests.console import sample
from tests.console.browsing import Visitor, words

MEMORY = Memory(used=100, peak=120, limit=None, policy="noeviction", evicted=0)
KEPT = Persistence(
    append_only=True, append_ok=True, fsync="everysec", snapshot_ok=True, saved_at=sample.ago(60), changes_since=3
)
WELL = ServerReport(
    address="single 127.0.0.1:6379/0",
    software="Redis 7.0.15",
    mode="standalone",
    role="master",
    uptime_s=100,
    clients=3,
    blocked_clients=1,
    rejected=0,
    replicas=0,
    calls_per_s=10,
    memory=MEMORY,
    persistence=KEPT,
    latency_ms=0.4,
    clock_ahead_ms=0.2,
    slow=(),
    refused=(),
)


def build(*reports: ServerReport, snapshot: Snapshot | None = None) -> system.System:
    snapshot = snapshot or sample.snapshot()
    return system.build(reports or (WELL,), snapshot, version="1", python="3.11", environment="test")


def test_a_sound_server_has_no_findings() -> None:
    assert build().findings == ()


@pytest.mark.parametrize(
    ("wrong", "tone", "lead"),
    [
        ({"persistence": replace(KEPT, append_ok=False)}, "bad", "Redis cannot write its append-only file:"),
        ({"persistence": replace(KEPT, append_only=False)}, "warn", "No append-only file:"),
        ({"persistence": replace(KEPT, snapshot_ok=False)}, "warn", "The last snapshot failed:"),
        ({"memory": replace(MEMORY, policy="allkeys-lru")}, "bad", "Redis may evict jobs:"),
        ({"memory": replace(MEMORY, evicted=4)}, "bad", "Redis has evicted keys:"),
        ({"memory": replace(MEMORY, limit=120)}, "warn", "Memory runs out:"),
        ({"memory": replace(MEMORY, limit=101)}, "bad", "Memory runs out:"),
        ({"rejected": 7}, "warn", "Redis has turned away connections:"),
        ({"clock_ahead_ms": -90_000.0}, "warn", "Clocks differ:"),
    ],
)
def test_what_is_not_right_is_told(wrong: dict[str, Any], tone: str, lead: str) -> None:
    [finding] = build(replace(WELL, **wrong)).findings

    assert (finding.tone, finding.lead, finding.subject) == (tone, lead, "")


def test_of_several_servers_the_one_is_named() -> None:
    other = replace(WELL, address="10.0.0.2:6379", rejected=1)

    assert [finding.subject for finding in build(WELL, other).findings] == ["10.0.0.2:6379"]


@pytest.mark.parametrize(
    ("ahead_ms", "text"),
    [
        (0.3, "the same as this server's"),
        (-90_000.0, "1 min 30 s behind this server's"),
        (250.0, "250 ms ahead of this server's"),
        (None, "not told"),
    ],
)
def test_the_clock_is_told_in_words(ahead_ms: float | None, text: str) -> None:
    assert build(replace(WELL, clock_ahead_ms=ahead_ms)).servers[0].clock == text


def test_slow_calls_are_summed_up_by_script_the_slowest_first() -> None:
    calls = (
        SlowCall(sample.ago(5), 20, "claim"),
        SlowCall(sample.ago(9), 90, "claim"),
        SlowCall(sample.ago(1), 40, "KEYS"),
    )

    page = build(replace(WELL, slow=calls))

    assert [(row.what, row.times, row.longest_ms, row.latest) for row in page.slow] == [
        ("claim", 2, 90, sample.ago(5)),
        ("KEYS", 1, 40, sample.ago(1)),
    ]


def test_a_server_that_tells_nothing_is_shown_all_the_same() -> None:
    page = build(replace(WELL, software=None, memory=None, persistence=None, slow=None, clock_ahead_ms=None))

    assert (page.findings, page.slow, page.slow_told) == ((), (), False)


async def test_the_page_tells_of_redis_and_of_foreign_keys(operator: Visitor, store: Store, redis_url: str) -> None:
    await kill_job(store, "mail")
    with redis.Redis.from_url(redis_url) as raw:
        raw.set(queue_key("mail", "scheduled"), "of somebody else")

    page = words((await operator.get("/console/system")).text)

    assert "Last snapshot" in page
    assert "noeviction, 0 keys evicted" in page
    assert "mail lf:{mail}:scheduled" in page
    assert "Another program writes to the same database." in page


async def test_a_server_that_may_not_be_asked_is_no_error(operator: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    async def little(_self: Store) -> list[ServerReport]:
        return [replace(WELL, software=None, memory=None, persistence=None, slow=None, refused=("INFO", "SLOWLOG GET"))]

    monkeypatch.setattr(Store, "servers", little)

    page = words((await operator.get("/console/system")).text)

    assert "INFO, SLOWLOG GET : our user may not use them" in page
    assert "The slow log is not told" in page
