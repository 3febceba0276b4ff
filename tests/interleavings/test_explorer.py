"""The explorer itself: it tries every order once, and finds a race that is there."""

from math import comb
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.calls import pause, resume
from tests.support.interleaving import TurnStore, explore
from tests.support.live_queue import LiveQueue
from tests.support.races import Race, job_number


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 2), (4, 4)])
def test_every_order_of_two_flows_is_tried_once(line: LiveQueue, first: int, second: int) -> None:
    line.add()

    async def pauser(store: TurnStore) -> None:
        for _ in range(first):
            await store.run(pause(line.name))

    async def resumer(store: TurnStore) -> None:
        for _ in range(second):
            await store.run(resume(line.name))

    runs = list(explore({"a": pauser, "b": resumer}, line.store, reset=lambda: None))
    orders = ["".join(flow for flow, _, _ in run.turns) for run in runs]

    assert len(orders) == len(set(orders)) == comb(first + second, first)


def test_whole_operations_are_not_torn_apart(line: LiveQueue) -> None:
    ids = [line.add(), line.add()]

    def deleter(job_id: str) -> Any:
        async def flow(store: TurnStore) -> Any:
            return await store.attempt(operations.delete(job_id))

        return flow

    flows = {"a": deleter(ids[0]), "b": deleter(ids[1])}
    orders = {
        "".join(flow for flow, _, _ in run.turns)
        for run in explore(flows, line.store, reset=lambda: None, whole_operations=True)
    }

    # Reading the queues' names, looking for the job, deleting it; the second order finds nothing to delete any more.
    assert orders == {"aaabbb", "bbaa"}


def test_each_new_state_is_seen_once(line: LiveQueue) -> None:
    line.add()
    seen: list[None] = []

    async def pauser(store: TurnStore) -> None:
        await store.run(pause(line.name))
        await store.run(pause(line.name))

    runs = list(
        explore({"a": pauser, "b": pauser}, line.store, reset=lambda: None, after_turn=lambda: seen.append(None))
    )

    # The tree of the six schedules has 2 + 4 + 6 + 6 states below its root.
    assert (len(runs), len(seen)) == (6, 18)


def test_a_change_made_of_two_calls_is_caught(line: LiveQueue) -> None:
    """An operation that looks first and writes later is what the explorer is for."""
    job_id = job_number(1)

    async def careless_delete(store: TurnStore) -> str:
        state = await store.befall(lambda: line.field(job_id, "state"))
        if state != "ready":
            return "conflict"
        entry = f"{int(line.field(job_id, 'seq') or 0):016d}{job_id}"

        def remove() -> None:
            line.raw.zrem(line.key("ready"), entry)
            line.raw.delete(line.record_key(job_id), line.record_key(job_id, ":in"))
            line.raw.hincrby(line.key("counts"), "deleted", 1)

        await store.befall(remove)
        return "deleted"

    async def careful_delete(store: TurnStore) -> Any:
        return await store.attempt(operations.delete(job_id))

    race = Race(line, lambda: line.add(id=job_id), {"careless": careless_delete, "careful": careful_delete})

    with pytest.raises(AssertionError, match=r"enqueued|no serial order"):
        race.check()
