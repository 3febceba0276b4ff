"""What the Overview looks for beyond the snapshot."""

import time
from collections.abc import Callable
from typing import Any

import msgspec
import redis

from leaseforge import exchanges, operations
from leaseforge.exchanges import Outcome
from leaseforge.keys import SYSTEM, queue_key
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from leaseforge_console.filters import NOTHING
from leaseforge_console.live import read_snapshot
from leaseforge_console.signs import read_signs
from leaseforge_console.views.signs import Growth, Signs, Unhandled
from tests.api.support import claim_job, settle, worker_report
from tests.console.browsing import words


async def kill_echo(store: Store, queue: str) -> None:
    """A job that failed for good, told with its type as a worker tells it."""
    claimed = await claim_job(store, queue)
    error = {"job_type": "echo", "error_kind": "ValueError", "error_message": "no such address", "max_attempts": 1}
    await settle(store, claimed, Outcome.FAIL, **error)


async def signs_of(store: Store) -> Signs:
    return await read_signs(store, await read_snapshot(store))


def plant(redis_url: str, queue: str, step: int, **counts: int) -> None:
    """Counters of the present bucket, as the sweep would have written them a little later."""
    with redis.Redis.from_url(redis_url) as raw:
        mapping: dict[Any, Any] = {name.replace("__", ":"): value for name, value in counts.items()}
        raw.hset(queue_key(queue, f"stats:{step}:{int(time.time() // step)}"), mapping=mapping)


async def test_nothing_is_no_sign(store: Store) -> None:
    assert await signs_of(store) == Signs()


async def test_the_type_of_which_most_died_is_found_with_its_error(store: Store, redis_url: str) -> None:
    await kill_echo(store, "mail")
    await kill_echo(store, "billing")
    plant(redis_url, SYSTEM, 10, dead=5, recovered=2, fenced=1)
    plant(redis_url, "mail", 300, dead__echo=1)
    plant(redis_url, "billing", 300, dead__echo=4)

    signs = await signs_of(store)

    assert (signs.died, signs.recovered, signs.fenced) == (5, 2, 1)
    assert signs.growth == Growth("billing", "echo", 4, "ValueError")


async def test_jobs_nobody_has_a_handler_for_are_found(store: Store) -> None:
    jobs = [new_job(name, queue="default") for name in ("echo", "resize", "resize")]
    await store.run(operations.enqueue_many(jobs))
    await store.run(operations.enqueue(new_job("resize", queue="unserved")))
    await store.run(exchanges.register_worker(msgspec.structs.replace(worker_report("w1"), types=("echo",))))

    assert (await signs_of(store)).unhandled == (Unhandled("default", "resize", 2),)

    await store.run(operations.pause("default"))
    assert (await signs_of(store)).unhandled == ()


async def test_the_overview_tells_signs_and_types(visit: Callable[[Role], Any], store: Store, redis_url: str) -> None:
    await kill_echo(store, "billing")
    plant(redis_url, SYSTEM, 10, dead=1, recovered=3)
    plant(redis_url, "billing", 300, dead__echo=1, failed__echo=1)
    viewer = await visit(Role.VIEWER)

    page = words((await viewer.get("/console")).text)

    assert "Dead letters grow: echo : 1 job in billing died in the last 15 min, all ValueError." in page
    assert "Leases were lost: 3 jobs were taken back" in page
    assert f"echo {NOTHING} {NOTHING} 100 %" in page
