"""What tests of bulk operations say over HTTP, and the jobs they need."""

from collections.abc import Mapping
from typing import Any

from leaseforge import exchanges, reads
from leaseforge.exchanges import Outcome
from leaseforge.store import Store
from leaseforge_auth.audit.calls import read_on
from leaseforge_auth.audit.entries import Entry, decode
from tests.api.conftest import Client
from tests.api.support import NUMBERS, RUN_ID, kill_job, settle


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def ask(client: Client, headers: Mapping[str, str], action: str, *, status: int = 202, **more: Any) -> Any:
    """Asks for an operation; the answer's JSON."""
    wanted = more.pop("filter", {"queue": "default"})
    answer = await client.post("/api/bulk", json={"action": action, "filter": wanted, **more}, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


async def step(client: Client, headers: Mapping[str, str], made: Any, verb: str, *, status: int = 200) -> Any:
    answer = await client.post(f"/api/bulk/{made['id']}/{verb}", json={"reason": "told so"}, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


async def shown(client: Client, headers: Mapping[str, str], made: Any) -> Any:
    answer = await client.get(f"/api/bulk/{made['id']}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def replays(store: Store, ids: list[str]) -> list[int]:
    return [(await store.run(reads.job(job_id))).replays for job_id in ids]


async def kill_many(store: Store, count: int) -> list[str]:
    return [await kill_job(store) for _ in range(count)]


async def audited(store: Store) -> list[Entry]:
    return [decode(stored.body) for stored in (await store.run(read_on(0))).entries]


async def fail_one(store: Store) -> bool:
    """Lets the first ready job fail for good; False if there is none."""
    exchanged = await store.run(
        exchanges.exchange("default", run_id=RUN_ID, number=next(NUMBERS), lease_ms=60_000, want=1)
    )
    for claimed in exchanged.claimed:
        await settle(store, claimed, Outcome.FAIL, error_kind="Again", max_attempts=1)
    return bool(exchanged.claimed)
