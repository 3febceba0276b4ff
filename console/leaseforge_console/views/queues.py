"""The list of queues, and the confirmation of a purge."""

from dataclasses import dataclass

from leaseforge.jobs import JobState
from leaseforge.queues import QueueInfo
from leaseforge_console.filters import plural, span
from leaseforge_console.views.snapshot import Snapshot

TYPED_WORD = "purge"
TYPED_ABOVE = 1_000
"""A purge of more jobs than this asks for the word to be typed."""


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue. `slots` sums up the workers that claim from it; they may serve other queues, too."""

    name: str
    paused: bool
    ready: int
    running: int
    slots: int
    scheduled: int
    retrying: int
    completed: int
    dead: int
    oldest_s: float | None
    unserved: bool


@dataclass(frozen=True, slots=True)
class Queues:
    """The page."""

    summary: str
    rows: tuple[QueueRow, ...]


@dataclass(frozen=True, slots=True)
class PurgeForm:
    """What a purge would remove: the ready jobs as they were at `as_of_ms` and `sequence`, and nothing later.

    Sending it twice removes nothing more.
    """

    queue: str
    count: int
    sequence: int
    as_of_ms: int
    oldest_s: float | None
    word: str | None
    problem: str | None


def build(snapshot: Snapshot) -> Queues:
    """All queues, by name."""
    ready = snapshot.total(JobState.READY)
    oldest = max((queue.oldest_ready_s for queue in snapshot.queues if queue.oldest_ready_s is not None), default=None)
    summary = f"{plural(len(snapshot.queues), 'queue')} · {ready:,} ready"
    if oldest is not None:
        summary += f", the oldest waits {span(oldest)}"
    return Queues(summary, tuple(row(queue, snapshot) for queue in snapshot.queues))


def row(queue: QueueInfo, snapshot: Snapshot) -> QueueRow:
    """One queue with the workers that serve it."""
    serving = snapshot.workers_of(queue.name)
    counts = {state: queue.counts.get(state, 0) for state in JobState}
    return QueueRow(
        name=queue.name,
        paused=queue.paused,
        ready=counts[JobState.READY],
        running=counts[JobState.RUNNING],
        slots=sum(worker.slots for worker in serving),
        scheduled=counts[JobState.SCHEDULED],
        retrying=counts[JobState.RETRYING],
        completed=counts[JobState.COMPLETED],
        dead=counts[JobState.DEAD],
        oldest_s=queue.oldest_ready_s,
        unserved=counts[JobState.READY] > 0 and not serving and not queue.paused,
    )


def purge_form(queue: QueueInfo) -> PurgeForm:
    """Freezes what the operator is shown."""
    count = queue.counts.get(JobState.READY, 0)
    return PurgeForm(
        queue=queue.name,
        count=count,
        sequence=queue.sequence,
        as_of_ms=queue.as_of_ms,
        oldest_s=queue.oldest_ready_s,
        word=TYPED_WORD if count > TYPED_ABOVE else None,
        problem=None,
    )


@dataclass(frozen=True, slots=True)
class PurgeSent:
    """What the confirmation sends back: the frozen set, the count it was shown as, the word if one was asked for."""

    sequence: int
    as_of_ms: int
    count: int
    word: str = ""


def purge_again(queue: str, sent: PurgeSent) -> PurgeForm:
    """The confirmation as it came back, with its problem if the word is missing."""
    needs_word = sent.count > TYPED_ABOVE
    wrong = needs_word and sent.word.strip().lower() != TYPED_WORD
    return PurgeForm(
        queue=queue,
        count=sent.count,
        sequence=sent.sequence,
        as_of_ms=sent.as_of_ms,
        oldest_s=None,
        word=TYPED_WORD if needs_word else None,
        problem=f"Type the word {TYPED_WORD} to confirm." if wrong else None,
    )
