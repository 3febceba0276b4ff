"""What is wrong, before how much there is: the conditions an operator must act on, worst first."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from leaseforge.jobs import JobState
from leaseforge.keys import queue_key
from leaseforge.queues import QueueInfo
from leaseforge.workers import WorkerState
from leaseforge_console.filters import plural, span
from leaseforge_console.views.signs import LATELY_S, Signs
from leaseforge_console.views.snapshot import Snapshot

LONG_S = 300
"""A job that waits longer than this in a queue with workers is worth a look."""
_MOST_OF_A_KIND = 4


@dataclass(frozen=True, slots=True)
class Notice:
    """One condition and the one way to its cause. `subject` is a name, set apart; `tone` is "bad" or "warn"."""

    tone: str
    lead: str
    subject: str
    text: str
    action: str
    path: str


def notices(snapshot: Snapshot, signs: Signs | None = None) -> tuple[Notice, ...]:
    """All of them; more than a few of one kind are told as one. `signs` are what no snapshot shows."""
    signs = signs or Signs()
    return (
        *_foreign(snapshot),
        *_without_worker(snapshot),
        *(_growing(signs) or _dead(snapshot)),
        *_unhandled(signs),
        *_lost(snapshot),
        *_lost_leases(signs),
        *_waiting_long(snapshot),
        *_paused(snapshot),
    )


def _foreign(snapshot: Snapshot) -> tuple[Notice, ...]:
    """First: what else is told may lack what these keys should tell."""
    keys = [*snapshot.foreign_keys]
    keys += [queue_key(queue.name, key) for queue in snapshot.queues for key in queue.foreign_keys]
    if not keys:
        return ()
    more = f" and {plural(len(keys) - 1, 'more key')}" if len(keys) > 1 else ""
    text = f"{more}: what should stand there is shown as empty."
    return (Notice("bad", "Keys that hold another program's data:", keys[0], text, "Show them", "/system"),)


def _growing(signs: Signs) -> tuple[Notice, ...]:
    growth = signs.growth
    if growth is None:
        return ()
    text = f": {plural(growth.died, 'job')} in {growth.queue} died in the last {span(LATELY_S)}"
    text += f", all {growth.kind}." if growth.kind else ", of different errors."
    path = f"/dead?{urlencode({'queue': growth.queue, 'type': growth.type})}"
    return (Notice("bad", "Dead letters grow:", growth.type, text, "Show them", path),)


def _unhandled(signs: Signs) -> tuple[Notice, ...]:
    return _few(
        [
            Notice(
                "bad",
                "No worker runs",
                one.type,
                f": {one.jobs} of the next jobs of {one.queue} will fail as unknown_type.",
                "Show jobs",
                f"/jobs?{urlencode({'queue': one.queue, 'type': one.type})}",
            )
            for one in signs.unhandled
        ],
        lambda rest: f"and {plural(rest, 'more type has', 'more types have')} jobs and no handler.",
        "/queues?only=waiting",
    )


def _lost_leases(signs: Signs) -> tuple[Notice, ...]:
    if not signs.recovered:
        return ()
    text = f"{plural(signs.recovered, 'job was', 'jobs were')} taken back from workers in the last {span(LATELY_S)}"
    if signs.fenced:
        text += f", {plural(signs.fenced, 'late word')} of theirs refused"
    return (Notice("warn", "Leases were lost:", "", f"{text}.", "Show metrics", "/metrics"),)


def _waiting_long(snapshot: Snapshot) -> tuple[Notice, ...]:
    """Only where somebody serves: what nobody serves, or is paused, is told already."""
    late = [
        queue
        for queue in snapshot.queues
        if (queue.oldest_ready_s or 0) >= LONG_S and not queue.paused and snapshot.workers_of(queue.name)
    ]
    return _few(
        [
            Notice("warn", "Jobs wait long in", queue.name, _waits(queue), "Show queue", f"/queues/{queue.name}")
            for queue in sorted(late, key=lambda queue: -(queue.oldest_ready_s or 0))
        ],
        lambda rest: f"and {plural(rest, 'more queue')}.",
        "/queues?sort=oldest",
    )


def _without_worker(snapshot: Snapshot) -> tuple[Notice, ...]:
    waiting = [
        queue
        for queue in snapshot.queues
        if queue.counts.get(JobState.READY, 0) and not queue.paused and not snapshot.workers_of(queue.name)
    ]
    if waiting and not any(worker.state is WorkerState.RUNNING for worker in snapshot.workers):
        jobs = sum(queue.counts[JobState.READY] for queue in waiting)
        text = f"{plural(jobs, 'job')} in {plural(len(waiting), 'queue')} {_wait(jobs)}."
        return (Notice("bad", "No worker is running:", "", text, "Show workers", "/workers"),)
    return _few(
        [
            Notice(
                "bad", "No worker serves", queue.name, _waits(queue), "Show jobs", f"/queues/{queue.name}?state=ready"
            )
            for queue in sorted(waiting, key=lambda queue: -(queue.oldest_ready_s or 0))
        ],
        lambda rest: f"and {plural(rest, 'more queue has', 'more queues have')} jobs and no worker.",
        "/queues?only=unserved",
    )


def _waits(queue: QueueInfo) -> str:
    jobs = queue.counts[JobState.READY]
    oldest = f", the oldest for {span(queue.oldest_ready_s)}" if queue.oldest_ready_s is not None else ""
    return f": {plural(jobs, 'job')} {_wait(jobs)}{oldest}."


def _wait(jobs: int) -> str:
    return "waits" if jobs == 1 else "wait"


def _dead(snapshot: Snapshot) -> tuple[Notice, ...]:
    having = sorted(
        (queue for queue in snapshot.queues if queue.counts.get(JobState.DEAD, 0)),
        key=lambda queue: -queue.counts[JobState.DEAD],
    )
    if not having:
        return ()
    worst, total = having[0], snapshot.total(JobState.DEAD)
    path = f"/dead?queue={worst.name}"
    if len(having) == 1:
        text = f": {plural(total, 'job')} failed for good."
        return (Notice("bad", "Dead letters in", worst.name, text, "Show them", path),)
    text = f" ({worst.counts[JobState.DEAD]:,} of {total:,} in {plural(len(having), 'queue')})."
    return (Notice("bad", "Dead letters, most in", worst.name, text, "Show them", path),)


def _lost(snapshot: Snapshot) -> tuple[Notice, ...]:
    lost = [worker for worker in snapshot.workers if worker.state is WorkerState.LOST]
    return _few(
        [
            Notice(
                "warn",
                "Worker not heard of:",
                f"{worker.host}:{worker.pid}",
                f" for {span((snapshot.now - worker.last_seen_at).total_seconds())};"
                " its jobs go back to their queues when their leases end.",
                "Show workers",
                "/workers",
            )
            for worker in lost
        ],
        lambda rest: f"and {plural(rest, 'more worker')}.",
        "/workers?only=lost",
        "Show workers",
    )


def _paused(snapshot: Snapshot) -> tuple[Notice, ...]:
    def text(queue: QueueInfo) -> str:
        jobs = queue.counts.get(JobState.READY, 0)
        return f": {plural(jobs, 'job')} {_wait(jobs)} until it is resumed." if jobs else ": nothing waits in it."

    return _few(
        [
            Notice("warn", "Paused:", queue.name, text(queue), "Show queue", f"/queues/{queue.name}")
            for queue in snapshot.queues
            if queue.paused
        ],
        lambda rest: f"and {plural(rest, 'more queue is', 'more queues are')} paused.",
        "/queues?only=paused",
    )


def _few(
    found: list[Notice], rest_text: Callable[[int], str], path: str, label: str = "Show queues"
) -> tuple[Notice, ...]:
    """At most a few notices of a kind; the rest is told as one that leads to all of them."""
    if len(found) <= _MOST_OF_A_KIND:
        return tuple(found)
    shown = found[: _MOST_OF_A_KIND - 1]
    rest = len(found) - len(shown)
    return (*shown, Notice(shown[0].tone, "", "", rest_text(rest), label, path))
