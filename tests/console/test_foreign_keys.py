"""Another program's keys in the place of ours: each hides what it stands for, and nothing else, and is told."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from msgspec.structs import replace

from leaseforge import bulk, exchanges, operations
from leaseforge.bulk_records import BulkAction, BulkFilter, BulkOrder
from leaseforge.requests import new_job
from leaseforge.store import Store
from tests.api.support import claim_job, kill_job, worker_report
from tests.console.browsing import Visitor, words
from tests.support.planting import plant_foreign

OPERATION = "f" * 32
STATS = tuple(f"stats:{step}:{{{step}}}" for step in (10, 300, 3600))
OF_THE_INSTALLATION: dict[str, tuple[str, ...]] = {
    "list of queues": ("queues",),
    "list of workers": ("workers",),
    "report of a worker": ("worker:one",),
    "all operations": ("bulk",),
    "operations that go on": ("bulk-alive",),
    "an operation": (f"bulk:{OPERATION}",),
    "what is only asked for now and then": ("command:one", "forms", "consumers:mail", *STATS),
}
NOT_TOLD = ("an operation",)
OF_A_QUEUE: dict[str, tuple[str, ...]] = {
    "settings": ("meta",),
    "states": ("ready", "running", "scheduled", "retrying", "completed", "cancelled", "dead"),
    "list of groups": ("dead:groups",),
    "a group": ("dead:group:{group}",),
    "what is counted": ("counts", "types", "outbox", "wake", *STATS),
}
OF_A_JOB: dict[str, tuple[str, ...]] = {"the record": ("",), "all else": (":in", ":out", ":log", ":history")}
PAGES = (
    *("", "/queues", "/queues/mail", "/queues/mail?state=dead", "/queues/mail/settings", "/queues/mail/purge"),
    *("/queues/mail/pause", "/queues/fine", "/jobs", "/jobs?state=completed", "/jobs?type=echo", "/jobs/new"),
    *("/delayed", "/dead", "/dead?queue=mail", "/dead/jobs", "/operations", "/operations/new?action=retry"),
    *("/workers", "/metrics", "/metrics?queue=mail", "/system", "/find?q=ma", "/account"),
)


@pytest.fixture
def raw(redis_url: str) -> Iterator[Any]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
async def dead(store: Store, _clean: None) -> str:
    """An installation with one of everything; the id of a dead job of the queue `mail`."""
    for queue in ("mail", "fine"):
        await store.run(operations.enqueue(new_job("echo", queue=queue, delay_ms=60_000)))
        await claim_job(store, queue)
        await store.run(operations.enqueue(new_job("echo", queue=queue)))
    for worker in ("one", "two"):
        await store.run(exchanges.register_worker(replace(worker_report(worker), queues=("fine", "mail"))))
    died = await kill_job(store, "mail")
    await store.run(bulk.create(OPERATION, BulkOrder(BulkAction.RETRY, BulkFilter(queue="mail"), created_by="ada")))
    return died


async def failing(visitor: Visitor) -> list[tuple[str, int]]:
    """The pages that cannot be shown."""
    answers = [(page, (await visitor.get(f"/console{page}")).status_code) for page in PAGES]
    return [(page, status) for page, status in answers if status >= 500]


def named(raw: Any, names: tuple[str, ...], group: str = "") -> list[str]:
    """The keys' names, with the steps of now."""
    now = int(raw.time()[0])
    steps = {str(step): now // step for step in (10, 300, 3600)}
    return [re.sub(r"\{(\d+)\}", lambda found: str(steps[found[1]]), name).format(group=group) for name in names]


@pytest.mark.parametrize("what", OF_THE_INSTALLATION)
async def test_a_foreign_key_of_the_installation_blinds_no_page(
    operator: Visitor, raw: Any, dead: str, what: str
) -> None:
    for name in named(raw, OF_THE_INSTALLATION[what]):
        plant_foreign(raw, f"lf:{{sys}}:{name}")

    assert await failing(operator) == []
    for page in ("", "/system") if what not in NOT_TOLD else ():
        told = words((await operator.get(f"/console{page}")).text)
        assert any(f"lf:{{sys}}:{name}" in told for name in OF_THE_INSTALLATION[what])
    # Without the list of queues those are known that workers name.
    assert "mail" in words((await operator.get("/console/queues")).text)
    assert ("here:1" in words((await operator.get("/console/workers")).text)) == (what != "list of workers")


@pytest.mark.parametrize("what", OF_A_QUEUE)
async def test_a_foreign_key_of_a_queue_blinds_no_page(operator: Visitor, raw: Any, dead: str, what: str) -> None:
    group = raw.hget(f"lf:{{mail}}:job:{dead}", "fp").decode()
    for name in named(raw, OF_A_QUEUE[what], group):
        plant_foreign(raw, f"lf:{{mail}}:{name}")

    assert await failing(operator) == []
    assert "fine" in words((await operator.get("/console/queues")).text)


@pytest.mark.parametrize("what", OF_A_JOB)
async def test_a_foreign_key_of_a_job_blinds_no_page(operator: Visitor, raw: Any, dead: str, what: str) -> None:
    for part in OF_A_JOB[what]:
        plant_foreign(raw, f"lf:{{mail}}:job:{dead}{part}")

    assert await failing(operator) == []
    assert (await operator.get(f"/console/jobs/{dead}")).status_code == (404 if what == "the record" else 200)


async def test_what_is_no_queues_name_among_the_queues_hides_no_queue_and_is_told(
    operator: Visitor, raw: Any, dead: str
) -> None:
    raw.zadd("lf:{sys}:queues", dict.fromkeys([b"\xff\xfe", "no where", "a}b{c", "sys", "x" * 100], 1))

    assert await failing(operator) == []
    assert "mail" in words((await operator.get("/console/queues")).text)
    assert "'no where'" in words((await operator.get("/console/system")).text)
