"""The list of queues, and the confirmation of a purge."""

import hmac
from dataclasses import dataclass

from leaseforge.jobs import JobState
from leaseforge.queues import QueueInfo
from leaseforge_console.filters import plural, span
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.tables import EVERYTHING, Column, Look, Narrowed, Table

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
    """The page: one page of the rows, all of them in `table`."""

    summary: str
    table: Narrowed[QueueRow]

    @property
    def rows(self) -> tuple[QueueRow, ...]:
        """The rows on show."""
        return self.table.rows


TABLE: Table[QueueRow] = Table(
    path="/queues",
    what="queue",
    columns=(
        Column("name", "Queue", lambda row: row.name, "name", falls=False),
        Column("ready", "Ready", lambda row: row.ready, "most ready"),
        Column("oldest", "Oldest waits", lambda row: -1 if row.oldest_s is None else row.oldest_s, "longest wait"),
        Column("running", "Running", lambda row: row.running, "most running"),
        Column("scheduled", "Scheduled", lambda row: row.scheduled, "most scheduled"),
        Column("retrying", "Retrying", lambda row: row.retrying, "most retrying"),
        Column("completed", "Completed", lambda row: row.completed, "most completed"),
        Column("dead", "Dead", lambda row: row.dead, "most dead"),
    ),
    onlies=(
        ("", "all queues", lambda _: True),
        ("waiting", "with ready jobs", lambda row: row.ready > 0),
        ("unserved", "with jobs and no worker", lambda row: row.unserved),
        ("paused", "paused", lambda row: row.paused),
        ("dead", "with dead jobs", lambda row: row.dead > 0),
    ),
    words=lambda row: iter((row.name,)),
    page_size=75,
)


@dataclass(frozen=True, slots=True)
class FrozenSet:
    """The ready jobs of a queue as they were when somebody looked; sending its purge twice removes nothing more."""

    queue: str
    count: int
    sequence: int
    as_of_ms: int

    def seal(self, key: str) -> str:
        """Ties the numbers together, so that what comes back from the form is what was shown. `key`: the form token."""
        text = f"purge:{self.queue}:{self.count}:{self.sequence}:{self.as_of_ms}"
        return hmac.digest(key.encode(), text.encode(), "sha256").hex()

    @property
    def needs_word(self) -> bool:
        """Whether so many jobs would go that a word has to be typed."""
        return self.count > TYPED_ABOVE


@dataclass(frozen=True, slots=True)
class PurgeForm:
    """The confirmation: what a purge would remove, and nothing later."""

    frozen: FrozenSet
    seal: str
    oldest_s: float | None
    word: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class PurgeSent:
    """What the confirmation sends back: the frozen set, its seal, the word if one was asked for."""

    sequence: int
    as_of_ms: int
    count: int
    seal: str
    word: str = ""

    def frozen(self, queue: str) -> FrozenSet:
        """The set that was shown, if the seal fits."""
        return FrozenSet(queue, self.count, self.sequence, self.as_of_ms)


def build(snapshot: Snapshot, look: Look = EVERYTHING) -> Queues:
    """The queues that are looked for; the summary is of all."""
    ready = snapshot.total(JobState.READY)
    oldest = max((queue.oldest_ready_s for queue in snapshot.queues if queue.oldest_ready_s is not None), default=None)
    summary = f"{plural(len(snapshot.queues), 'queue')} · {ready:,} ready"
    if oldest is not None:
        summary += f", the oldest waits {span(oldest)}"
    return Queues(summary, TABLE.look([row(queue, snapshot) for queue in snapshot.queues], look))


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


def purge_form(queue: QueueInfo, key: str) -> PurgeForm:
    """Freezes what the operator is shown."""
    frozen = FrozenSet(queue.name, queue.counts.get(JobState.READY, 0), queue.sequence, queue.as_of_ms)
    return _form(frozen, key, oldest_s=queue.oldest_ready_s)


def problem_of(frozen: FrozenSet, sent: PurgeSent, key: str) -> PurgeForm | None:
    """The confirmation to show again because something is wrong with what was sent, or None."""
    if frozen.needs_word and sent.word.strip().lower() != TYPED_WORD:
        return _form(frozen, key, problem=f"Type the word {TYPED_WORD} to confirm.")
    return None


def is_as_shown(frozen: FrozenSet, sent: PurgeSent, key: str) -> bool:
    """Whether this session was shown exactly this set."""
    return hmac.compare_digest(sent.seal.encode(), frozen.seal(key).encode())


def _form(frozen: FrozenSet, key: str, *, oldest_s: float | None = None, problem: str | None = None) -> PurgeForm:
    return PurgeForm(frozen, frozen.seal(key), oldest_s, TYPED_WORD if frozen.needs_word else None, problem)
