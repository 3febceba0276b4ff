"""Brings what running handlers say, progress and log lines, to Redis."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import structlog

from leaseforge import attempts, events
from leaseforge.answers import Answer
from leaseforge.calls import Call
from leaseforge.errors import ScriptFault, StoreError
from leaseforge_worker.held import Clock, Held, Stop
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.rounds import Rounds

log = structlog.get_logger()

T = TypeVar("T")

EVERY_S = 1.0
_AT_ONCE = 20
"""Jobs whose words travel together: 200 lines of 1 KiB each."""


class RunsMany(Protocol):
    """The one thing the messenger needs of a store."""

    async def run_many(self, calls: Sequence[Call[T]], /) -> list[T]:
        """Carries out calls in one trip. Raises StoreError."""
        ...


class Messenger:
    """Looks once a second which running attempts said something, and tells Redis.

    An attempt that ended has its last words told before `settle` gets it: its token is not accepted
    afterwards. Answers end attempts as those of renewals do, by `cancelled` and `lost`. Attempts
    that say nothing cost nothing.
    """

    def __init__(
        self,
        *,
        store: RunsMany,
        running: Callable[[], Iterable[Held]],
        settle: Callable[[Held], None],
        cancelled: Callable[[Held], None],
        lost: Callable[[Held], None],
        link: Link,
        meters: Meters,
        beat: Callable[[], None],
        clock: Clock = time.monotonic,
    ) -> None:
        self._store = store
        self._running = running
        self._settle = settle
        self._cancelled = cancelled
        self._lost = lost
        self._link = link
        self._meters = meters
        self._clock = clock
        self._ended: dict[Held, None] = {}
        self._rounds = Rounds(beat=beat, clock=clock, first_s=0.05, longest_s=EVERY_S)

    @property
    def unsettled(self) -> int:
        """Attempts that ended and whose last words are not told yet."""
        return len(self._ended)

    def finish(self, held: Held) -> None:
        """An attempt ended with words that are not told: tell them, then settle it."""
        if held.words is not None:
            held.words.close()
        self._ended[held] = None
        self._rounds.ask()

    async def run(self) -> None:
        """Carries words for ever; Redis being away only pauses it."""
        await self._rounds.keep(self.run_once)

    async def run_once(self) -> None:
        """Tells last words, and once a second what running attempts said. Raises StoreError after all were tried."""
        is_due = self._rounds.begin()
        speakers = dict.fromkeys(self._ended)
        if is_due:
            self._rounds.again_in(EVERY_S)
            speaking = (held for held in self._running() if held.has_unsent_words and held.stop is not Stop.FENCED)
            speakers |= dict.fromkeys(speaking)
        by_queue: dict[str, list[Held]] = {}
        for held in speakers:
            by_queue.setdefault(held.claimed.queue, []).append(held)
        async with asyncio.TaskGroup() as group:
            told = [group.create_task(self._tell_queue(queue, jobs)) for queue, jobs in by_queue.items()]
        for task in told:
            if error := task.result():
                raise error

    async def _tell_queue(self, queue: str, speaking: list[Held]) -> StoreError | None:
        """Tells the words of one queue's attempts. In a cluster it may be away while others are not."""
        try:
            for first in range(0, len(speaking), _AT_ONCE):
                await self._tell(queue, speaking[first : first + _AT_ONCE])
        except StoreError as error:
            self._link.failed(f"words:{queue}", error)
            return error
        return None

    async def _tell(self, queue: str, speaking: list[Held]) -> None:
        speakers: list[Held] = []
        calls: list[Call[Answer]] = []
        for held in speaking:
            for call in _calls(held):
                speakers.append(held)
                calls.append(call)
        sent_at = self._clock()
        try:
            answers = await self._store.run_many(calls) if calls else []
        except ScriptFault as error:
            self._link.worked(f"words:{queue}")
            if len(speaking) > 1:  # one that breaks the script must not silence the others
                for held in speaking:
                    await self._tell(queue, [held])
                return
            log.error(events.WORDS_REFUSED, queue=queue, job_id=speaking[0].claimed.id, error=str(error))
            answers = [Answer.OK] * len(calls)
        else:
            if calls:
                self._meters.called("words", self._clock() - sent_at)
                self._link.worked(f"words:{queue}")
        refused = {held: answer for held, answer in zip(speakers, answers, strict=True) if answer is not Answer.OK}
        for held in speaking:
            self._told(held, refused.get(held, Answer.OK))

    def _told(self, held: Held, answer: Answer) -> None:
        """Redis has the words, or says that it wants no more from this attempt."""
        if held.words is not None:
            held.words.told()
        if answer is Answer.FENCED:
            self._lost(held)
        elif answer is Answer.CANCELLED:
            self._cancelled(held)
        if held in self._ended:
            if held.has_unsent_words and answer is not Answer.FENCED:
                self._rounds.ask()  # said between the message that was under way and the end
            else:
                del self._ended[held]
                self._settle(held)


def _calls(held: Held) -> list[Call[Answer]]:
    """The message an attempt has for Redis, as calls; none if it has none."""
    said = held.words.message() if held.words is not None else None
    if said is None:
        return []
    job = held.claimed
    calls = []
    if said.lines:
        calls.append(attempts.log(job.queue, job.id, job.token, first=said.first, lines=said.lines))
    if said.progress is not None:
        percent, note = said.progress
        calls.append(attempts.progress(job.queue, job.id, job.token, percent=percent, note=note))
    return calls
