"""Writes the audit trail: entries of one process go together, several servers take turns by the head."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import structlog

from leaseforge import events
from leaseforge.answers import Answer
from leaseforge.errors import LeaseforgeError, StoreError, StoreUnavailable
from leaseforge.store import Store
from leaseforge_auth.audit import calls
from leaseforge_auth.audit.calls import Linked
from leaseforge_auth.audit.chain import Chain, Head
from leaseforge_auth.audit.entries import Entry, encode

_AT_ONCE = 100
_TRIES = 50
_TRIM_SLACK = 200
"""Entries over the limit before the oldest are dropped, so that not every entry drops one."""

log = structlog.get_logger()


@dataclass(slots=True)
class _Waiting:
    entry: Entry
    written: "asyncio.Future[Entry]"


class AuditTrail:
    """The audit trail of one installation, as one server writes it.

    `append` returns once the entry is in Redis. Up to `keep` entries stay; older ones are dropped and leave an anchor.
    """

    def __init__(self, store: Store, chain: Chain, *, keep: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._chain = chain
        self._keep = keep
        self._clock = clock
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None
        self._head: Head | None = None
        self._anchor = Head()
        self._offset_ms = 0.0

    async def append(self, entry: Entry) -> Entry:
        """Stores an entry and answers it with its time. After a StoreError it is not known whether it is stored."""
        waiting = _Waiting(entry, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())
        return await asyncio.shield(waiting.written)

    async def _write_all(self) -> None:
        """Writes until nothing waits. Whatever comes while one call is under way goes with the next."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:_AT_ONCE], self._waiting[_AT_ONCE:]
                try:
                    entries = await self._write([waiting.entry for waiting in batch])
                except Exception as error:
                    self._head = None
                    _refuse(batch, error)
                else:
                    for waiting, entry in zip(batch, entries, strict=True):
                        if not waiting.written.done():
                            waiting.written.set_result(entry)
                    await self._trim()
        finally:
            self._writing = None
            # Only a cancelled task leaves any: its server is going.
            _refuse(self._waiting, StoreUnavailable("the server is stopping"))
            self._waiting = []

    async def _write(self, entries: Sequence[Entry]) -> list[Entry]:
        lost: Head | None = None
        for attempt in range(_TRIES):
            before = self._head or await self._read_head()
            if lost is not None and before == lost:
                break  # the answer was lost, not the entries: the head is the one we made
            timed = [self._timed(entry) for entry in entries]
            linked, after = self._link(before, timed)
            result, now_ms = await self._store.run(calls.append(before, after, linked))
            self._heard(now_ms)
            if result is Answer.OK:
                self._head = after
                return timed
            self._head, lost = None, after
            await asyncio.sleep(random.uniform(0, 0.005 * min(attempt, 10)))
        else:
            raise StoreUnavailable("the audit trail is written to by too many servers at once: try again")
        return timed

    def _link(self, before: Head, entries: Sequence[Entry]) -> tuple[list[Linked], Head]:
        """The entries sealed one behind the other, and the head they lead to."""
        linked: list[Linked] = []
        sequence, mac = before.sequence, before.mac
        for entry in entries:
            body = encode(entry)
            sequence += 1
            mac = self._chain.mac(mac, sequence, body)
            linked.append(Linked(body, mac, self._chain.kid, entry.id, entry.step))
        return linked, self._chain.head(sequence, mac)

    async def _read_head(self) -> Head:
        state = await self._store.run(calls.read_state())
        self._heard(state.now_ms)
        self._head, self._anchor = state.head, state.anchor
        return state.head

    async def _trim(self) -> None:
        """Drops what is too much. Not done now, it is done with one of the next entries."""
        while self._head is not None and self._head.sequence - self._anchor.sequence > self._keep + _TRIM_SLACK:
            last = self._anchor.sequence + _TRIM_SLACK
            try:
                [found] = (await self._store.run(calls.read_on(last - 1, count=1))).entries
                anchor = self._chain.anchor(found.sequence, found.mac)
                if await self._store.run(calls.trim(anchor)) is not Answer.OK:
                    await self._read_head()  # another server has dropped them
                    return
                self._anchor = anchor
            except (LeaseforgeError, ValueError) as error:
                log.warning(events.AUDIT_TRIM_FAILED, error=str(error))
                return

    def _timed(self, entry: Entry) -> Entry:
        return msgspec.structs.replace(entry, at_ms=round(self._clock() * 1000 + self._offset_ms))

    def _heard(self, now_ms: int) -> None:
        """Entries carry Redis's time, as jobs do: clocks of several servers may differ."""
        self._offset_ms = now_ms - self._clock() * 1000


def _refuse(batch: Sequence[_Waiting], error: Exception) -> None:
    for waiting in batch:
        if not waiting.written.done():
            waiting.written.set_exception(error if isinstance(error, StoreError) else StoreUnavailable(str(error)))
