"""Reads made once for all who ask: none is answered with what was true before it asked."""

import asyncio
from typing import Any

import pytest

from leaseforge.errors import StoreUnavailable
from leaseforge_auth.shared_reads import SharedReads


class Source:
    """Something that can be read, slowly: an answer is what was true when the read began."""

    def __init__(self) -> None:
        self.value: Any = "valid"
        self.reads = 0
        self.waiting: list[asyncio.Event] = []

    async def read(self, key: str) -> Any:
        self.reads += 1
        found = self.value
        self.waiting.append(go_on := asyncio.Event())
        await go_on.wait()
        if isinstance(found, Exception):
            raise found
        return f"{key} {found}"

    async def answer(self) -> None:
        """Lets the read that is on its way end, and what waits for it go on."""
        self.waiting.pop(0).set()
        await settled()


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def alone() -> bool:
    return True


def in_company() -> bool:
    return False


def ask(shared: SharedReads[str, Any], *keys: str) -> list["asyncio.Task[Any]"]:
    return [asyncio.ensure_future(shared.get(key)) for key in keys]


async def test_who_asks_after_a_revocation_never_hears_of_the_time_before_it() -> None:
    source = Source()
    shared: SharedReads[str, Any] = SharedReads(source.read, is_alone=alone)
    [before] = ask(shared, "ada")
    await settled()
    source.value = "revoked"
    [after] = ask(shared, "ada")
    await settled()

    await source.answer()

    assert (before.result(), after.done()) == ("ada valid", False)
    await source.answer()
    assert after.result() == "ada revoked"


async def test_those_who_ask_meanwhile_share_one_read_and_other_keys_have_their_own() -> None:
    source = Source()
    shared: SharedReads[str, Any] = SharedReads(source.read, is_alone=alone)
    asked = ask(shared, "ada", "ada", "ada", "ada", "bob")
    await settled()

    assert source.reads == 2
    for _ in range(3):
        await source.answer()

    assert [task.result() for task in asked] == [f"{name} valid" for name in ("ada", "ada", "ada", "ada", "bob")]
    assert source.reads == 3
    [later] = ask(shared, "ada")
    await settled()
    await source.answer()
    assert (later.result(), source.reads) == ("ada valid", 4)


async def test_in_company_those_who_ask_in_the_same_turn_share_one_read_that_begins_after_it() -> None:
    source = Source()
    shared: SharedReads[str, Any] = SharedReads(source.read, is_alone=in_company)
    asked = ask(shared, "ada", "ada", "ada")
    await settled()
    assert source.reads == 1
    source.value = "revoked"
    asked += ask(shared, "ada")
    await settled()

    await source.answer()
    await source.answer()

    assert [task.result() for task in asked] == ["ada valid"] * 3 + ["ada revoked"]
    assert source.reads == 2


async def test_in_company_whoever_gives_up_takes_nobody_along() -> None:
    source = Source()
    shared: SharedReads[str, Any] = SharedReads(source.read, is_alone=in_company)
    first, second = ask(shared, "ada", "ada")
    await settled()
    [third] = ask(shared, "ada")
    await settled()
    first.cancel()
    await settled()

    await source.answer()
    await source.answer()

    assert (first.cancelled(), second.result(), third.result()) == (True, "ada valid", "ada valid")


async def test_whoever_gives_up_takes_nobody_along() -> None:
    source = Source()
    shared: SharedReads[str, Any] = SharedReads(source.read, is_alone=alone)
    first, second, third = ask(shared, "ada", "ada", "ada")
    await settled()
    first.cancel()
    second.cancel()
    await settled()

    source.waiting.pop(0)  # of the read that was given up
    await source.answer()

    assert (first.cancelled(), second.cancelled(), third.result()) == (True, True, "ada valid")


async def test_a_fault_is_for_those_who_shared_the_read() -> None:
    source = Source()
    shared: SharedReads[str, Any] = SharedReads(source.read, is_alone=alone)
    source.value = ValueError("broken")
    [first] = ask(shared, "ada")
    await settled()
    source.value = "valid"
    [second] = ask(shared, "ada")
    await settled()
    await source.answer()
    await source.answer()

    assert second.result() == "ada valid"
    with pytest.raises(ValueError, match="broken"):
        await first


async def test_without_redis_nobody_waits_twice() -> None:
    source = Source()
    shared: SharedReads[str, Any] = SharedReads(source.read, is_alone=alone)
    source.value = StoreUnavailable("away")
    asked = ask(shared, "ada", "ada", "ada")
    await settled()
    await source.answer()

    assert [type(task.exception()) for task in asked] == [StoreUnavailable] * 3
    assert source.reads == 1
