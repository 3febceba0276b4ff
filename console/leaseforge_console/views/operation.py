"""One bulk operation: the confirmation before it begins, and afterwards how far it is and what came of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from leaseforge.bulk_records import (
    REPLAYS,
    BulkAction,
    BulkOperation,
    BulkSample,
    BulkState,
)
from leaseforge.jobs import JobState
from leaseforge_auth.bulk import permissions_for
from leaseforge_console.filters import percent, plural, span
from leaseforge_console.views.asked import WITHIN, Asked
from leaseforge_console.views.bulk_words import (
    FAILURES,
    VERBS,
    StateBadge,
    jobs_of,
    noun,
    scope,
    scope_line,
    state_badge,
    title,
)
from leaseforge_console.views.operation_start import StartForm, start_form
from leaseforge_console.views.progress import Progress, pace_words, progress, time_left
from leaseforge_console.views.snapshot import Snapshot

_LATELY = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Other:
    """Another operation on some of the same jobs: who does or did what with them."""

    text: str
    path: str
    is_going_on: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """One count of what came of the jobs."""

    label: str
    count: int
    tone: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class OperationPage:
    """The page. `start` is None where it cannot be run (on); `needs` is what somebody must hold to steer it."""

    id: str
    path: str
    title: str
    question: str
    verb: str
    done: str
    jobs: str
    left_jobs: str
    badge: StateBadge
    state: BulkState
    needs: tuple[str, ...]
    by: str
    created_at: datetime | None
    scope: tuple[tuple[str, str], ...]
    line: str
    total: int
    searched: int
    is_cut: bool
    destroys: bool
    effect: str
    others: tuple[Other, ...]
    start: StartForm | None
    progress: Progress
    pace: str
    left: str
    outcomes: tuple[Outcome, ...]
    advice: str
    failing_path: str
    retrying_path: str
    facts: tuple[tuple[str, str], ...]
    queues: tuple[str, ...]
    sample: tuple[BulkSample, ...]
    is_over: bool
    has_begun: bool


_EFFECTS = {
    BulkAction.RETRY: "They become ready again, with fresh attempts.",
    BulkAction.REQUEUE: "They become ready again; results are cleared.",
    BulkAction.CANCEL: "Those that wait will not run; those that run are asked to stop.",
    BulkAction.DELETE: "Payloads and histories go, too. They cannot be brought back.",
    BulkAction.PROMOTE: "They become ready now instead of at their time.",
}


def build(
    operation: BulkOperation,
    meeting: Iterable[BulkOperation],
    snapshot: Snapshot,
    *,
    sent: dict[str, str] | None = None,
    problems: dict[str, str] | None = None,
) -> OperationPage:
    """The page; `meeting` are operations on some of the same jobs, `sent` and `problems` a start that was refused."""
    order, counts = operation.order, operation.counts
    far = progress(operation, snapshot.now)
    others = tuple(_other(one, snapshot.now) for one in meeting if _matters(one, operation, snapshot.now))
    verb = VERBS[order.action]
    return OperationPage(
        id=operation.id,
        path=f"/operations/{operation.id}",
        title=title(operation),
        question=f"{title(operation)}?",
        verb=verb.now,
        done=verb.done,
        jobs=jobs_of(operation),
        left_jobs=plural(counts.total - counts.taken, "job"),
        badge=state_badge(operation),
        state=operation.state,
        needs=tuple(sorted(permissions_for(order))),
        by=order.created_by,
        created_at=operation.created_at,
        scope=scope(order),
        line=scope_line(order),
        total=counts.total,
        searched=counts.searched,
        is_cut=operation.is_cut,
        destroys=order.action in (BulkAction.DELETE, BulkAction.CANCEL),
        effect=_EFFECTS[order.action],
        others=others,
        start=start_form(operation, meeting, sent or {}, problems or {}),
        progress=far,
        pace=pace_words(far),
        left=time_left(far),
        outcomes=_outcomes(operation),
        advice=_advice(operation),
        failing_path=_failing_path(operation, snapshot.now),
        retrying_path=_retrying_path(operation),
        facts=_facts(operation),
        queues=operation.queues,
        sample=operation.sample,
        is_over=operation.state.is_over,
        has_begun=operation.run > 0,
    )


def _matters(other: BulkOperation, operation: BulkOperation, now: datetime) -> bool:
    """Whether it is worth a line: at work on the same jobs, or an explanation of those that were missed."""
    if other.id == operation.id or not other.run or not other.order.may_meet(operation.order):
        return False
    if not operation.state.is_over and not other.state.is_over:
        return True
    came_later = operation.ended_at and other.started_at and other.started_at > operation.ended_at
    is_old = other.ended_at and (operation.created_at or now) - other.ended_at > _LATELY
    return not came_later and not is_old and (not operation.counts.total or operation.counts.changed > 0)


def _other(other: BulkOperation, now: datetime) -> Other:
    verb, counts = VERBS[other.order.action], other.counts
    who = other.run_by or other.order.created_by
    far = f"{counts.taken:,} of {counts.total:,}"
    match other.state:
        case BulkState.RUNNING:
            text = f"Already being {verb.done} by {who}: {far} so far."
        case BulkState.PAUSED | BulkState.STOPPED:
            text = f"{who} has begun {verb.doing} these, and it is {other.state}: {far} so far."
        case _:
            ago = f" {span((now - other.ended_at).total_seconds())} ago" if other.ended_at else ""
            text = f"{who} {verb.done} {plural(counts.done, noun(other.order))}{ago}."
    return Other(text, f"/operations/{other.id}", other.state is BulkState.RUNNING)


def _outcomes(operation: BulkOperation) -> tuple[Outcome, ...]:
    counts, verb = operation.counts, VERBS[operation.order.action]
    found = [
        Outcome(verb.done.capitalize(), counts.done, "completed"),
        Outcome("Left", counts.total - counts.taken, "ready"),
        Outcome("Skipped", counts.changed, "cancelled", "changed since they were counted"),
        Outcome("Gone", counts.gone, "cancelled", "deleted or trimmed since"),
    ]
    found += [Outcome("Failed", count, "dead", FAILURES.get(kind, kind)) for kind, count in counts.failed.items()]
    if operation.order.action in REPLAYS and operation.order.stop_at_failure_rate is not None:
        found.append(Outcome("Completed", counts.well, "completed", "of those that were watched"))
        found.append(Outcome("Failed again", counts.again, "dead", "of those that were watched"))
    always = ("Left", verb.done.capitalize(), "Skipped")
    return tuple(one for one in found if one.count or one.label in always)


def _advice(operation: BulkOperation) -> str:
    """What to do next, where that is a question."""
    done, left = operation.counts.done, operation.counts.total - operation.counts.taken
    verb = VERBS[operation.order.action].done
    match operation.state:
        case BulkState.STOPPED:
            limit = operation.order.stop_at_failure_rate
            share = f" The limit was {percent(limit)}." if limit is not None else ""
            return (
                f"It stopped by itself: {operation.error}.{share} {done:,} were {verb}, {left:,} are as they were. "
                "See what fails and mend it, then go on, slower if you like; or abort: what is done stays done."
            )
        case BulkState.FAILED:
            return (
                f"It cannot go on: {operation.error}. {done:,} were {verb}. Ask for it anew once the cause is mended."
            )
        case BulkState.ABORTED if not operation.run:
            return f"Nothing was done: {operation.error or 'it was dropped before it began'}."
        case BulkState.ABORTED:
            return f"Aborted: {done:,} were {verb} and stay so, {left:,} were left as they were."
        case BulkState.PAUSED:
            return f"Paused: {left:,} are left as they are until somebody goes on."
    return ""


def _failing_path(operation: BulkOperation, now: datetime) -> str:
    """To the jobs that are dead again after this operation and nothing since; '' if none is known.

    The time only spares a look at what died before it began.
    """
    if not operation.counts.again or operation.started_at is None:
        return ""
    seconds = (now - operation.started_at).total_seconds()
    within = next((each for each, _ in WITHIN if each and each >= seconds), 0)
    queue = operation.queues[0] if len(operation.queues) == 1 else ""
    return "/dead/jobs" + Asked(queue=queue, operation=operation.id, within=within).query()


def _retrying_path(operation: BulkOperation) -> str:
    """To the jobs that failed again and have tries left; '' if none is known."""
    if not operation.counts.again:
        return ""
    queue = operation.queues[0] if len(operation.queues) == 1 else ""
    return "/delayed" + Asked(queue=queue, state=JobState.RETRYING, operation=operation.id).query()


def _facts(operation: BulkOperation) -> tuple[tuple[str, str], ...]:
    order = operation.order
    rows = [("Asked for by", order.created_by)]
    if operation.run_by:
        rows.append(("Run by", operation.run_by + (f", {operation.run} times" if operation.run > 1 else "")))
    if operation.state is BulkState.ABORTED and operation.ended_by:
        rows.append(("Aborted by", operation.ended_by))
    reason = operation.run_reason or order.reason
    if reason:
        rows.append(("Reason", reason))
    if operation.run:
        rows.append(("Pace", f"at most {order.rate_per_second:,} a second"))
        if order.action in REPLAYS:
            limit = order.stop_at_failure_rate
            rows.append(("Stops by itself", f"above {percent(limit)} failing again" if limit is not None else "never"))
    return tuple(rows)
