"""The form of a new job: what was typed, what is offered, what is wrong with it, and the job it comes to."""

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from leaseforge.errors import BadInput, FieldProblem
from leaseforge.jobs import Job, JobState, NewJob
from leaseforge.requests import JSON, is_job_id, new_job
from leaseforge_auth.masking import is_json
from leaseforge_console.filters import size
from leaseforge_console.json_text import Fault, fault_in, pretty, restored, without_secrets
from leaseforge_console.payloads import MASK
from leaseforge_console.views.payload_form import PayloadForm
from leaseforge_console.views.snapshot import Snapshot

MAX_BYTES = 256 * 1024
"""Larger payloads are submitted by the API: a browser's text field copes badly with them."""

TEXTS = (
    "queue",
    "type",
    "priority",
    "delay",
    "at",
    "max_attempts",
    "timeout",
    "unique_key",
    "tags",
)
# The engine's names and what the form calls them.
_FIELDS = {"delay_ms": "delay", "timeout_ms": "timeout", "idempotency_key": "key"}
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,3})?")
_WHOLE = re.compile(r"-?\d{1,12}")


@dataclass(frozen=True, slots=True)
class Typed:
    """The fields as texts. `key` names this very form: sent twice it makes one job."""

    key: str
    payload: str = "{}"
    texts: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.texts.get(name, "")

    def but(self, *, payload: str | None = None, texts: Mapping[str, str] | None = None) -> "Typed":
        """The same form with another payload, or with some other texts."""
        return Typed(
            self.key,
            self.payload if payload is None else payload,
            self.texts if texts is None else {**self.texts, **texts},
        )


@dataclass(frozen=True, slots=True)
class NewJobForm:
    """The page. `queues` and `types` are offered, as far as the role may know of them; `note` says what happened.

    `fields` are those of the payload, None where it is typed as JSON.
    """

    typed: Typed
    queues: tuple[str, ...]
    types: tuple[str, ...]
    problems: Mapping[str, str]
    fault: Fault | None
    note: str
    offers_examples: bool
    has_more: bool
    fields: PayloadForm | None


def blank(*, queue: str = "", job_type: str = "") -> Typed:
    """A form nobody has filled in yet."""
    return Typed(str(uuid.uuid4()), texts={"queue": queue or "default", "type": job_type})


def like(job: Job) -> Typed:
    """Filled in like a job there is; what is masked in its payload has to be typed."""
    options = job.options
    timeout = "" if options.timeout_ms is None else f"{options.timeout_ms / 1000:.3f}".rstrip("0").rstrip(".")
    return Typed(
        str(uuid.uuid4()),
        example_of(job) or "{}",
        {
            "queue": job.queue,
            "type": job.type,
            "priority": str(job.priority) if job.priority else "",
            "max_attempts": "" if options.max_attempts is None else str(options.max_attempts),
            "timeout": timeout,
            "tags": ", ".join(job.tags),
        },
    )


def example_of(job: Job) -> str:
    """Its payload as a text to begin with, '' if it has none that can be typed."""
    if job.payload is None or not is_json(job.content_type) or len(job.payload) > MAX_BYTES:
        return ""
    text = job.payload.decode(errors="replace")
    return "" if fault_in(text) else pretty(without_secrets(text, lambda *_: f'"{MASK}"'))


def form(
    typed: Typed,
    snapshot: Snapshot | None,
    *,
    problems: Mapping[str, str] | None = None,
    fault: Fault | None = None,
    note: str = "",
    offers_examples: bool = False,
    fields: PayloadForm | None = None,
) -> NewJobForm:
    """The page; `snapshot` is None for roles that may not see queues and workers."""
    found = problems or {}
    workers = snapshot.workers if snapshot else ()
    more = ("priority", "max_attempts", "timeout", "unique_key", "tags")
    return NewJobForm(
        typed=typed,
        queues=tuple(queue.name for queue in snapshot.queues) if snapshot else (),
        types=tuple(sorted({name for worker in workers for name in worker.types})),
        problems=found,
        fault=fault,
        note=note,
        offers_examples=offers_examples,
        fields=fields.filled(typed.texts, found) if fields else None,
        has_more=any(typed[name] or name in found for name in more),
    )


def job_from(typed: Typed, *, created_by: str) -> NewJob:
    """The request the form comes to. Raises BadInput with all problems by the form's own names."""
    problems: list[FieldProblem] = []
    priority = _whole(typed, "priority", problems)
    max_attempts = _whole(typed, "max_attempts", problems)
    delay_ms, timeout_ms = _ms(typed, "delay", problems), _ms(typed, "timeout", problems)
    at = _moment(typed["at"], problems)
    if at is not None and typed["delay"]:
        problems.append(FieldProblem("at", "excludes a delay: give one of both"))
        at = None
    if not is_job_id(typed.key):
        raise BadInput([FieldProblem("key", "is not one of a form of ours")])
    try:
        job = new_job(
            typed["type"],
            typed.payload.encode(errors="replace"),
            content_type=JSON,
            queue=typed["queue"],
            priority=priority or 0,
            delay_ms=delay_ms or 0,
            at=at,
            idempotency_key=f"console {typed.key}",
            max_attempts=max_attempts,
            timeout_ms=timeout_ms,
            tags=list(_tags(typed["tags"])),
            created_by=created_by,
            unique_key=typed["unique_key"] or None,
        )
    except BadInput as error:
        named = {problem.field for problem in problems}
        found = [FieldProblem(_FIELDS.get(p.field, p.field), p.message) for p in error.problems]
        raise BadInput([*problems, *(problem for problem in found if problem.field not in named)]) from error
    if problems:
        raise BadInput(problems)
    return job


def fault_of(payload: str) -> Fault | None:
    """What is wrong with the payload as it was typed."""
    if len(payload.encode(errors="replace")) > MAX_BYTES:
        return Fault(f"At most {size(MAX_BYTES)} can be submitted from here; POST /api/jobs takes 1 MiB")
    return fault_in(payload) or restored(payload, ())[1]


def told(job: NewJob, job_id: str, snapshot: Snapshot, *, is_new: bool) -> str:
    """What became of it, and what will not become of it as things are; `snapshot` was read before it was stored."""
    if not is_new:
        holder = " or the job shown here holds its unique key" if job.unique_key else ""
        return f"Not submitted again: it was submitted already{holder}."
    serving = snapshot.workers_of(job.queue)
    queue = next((queue for queue in snapshot.queues if queue.name == job.queue), None)
    waits = "is scheduled" if job.delay_ms or job.at else "is ready"
    if queue is None:
        return f"Submitted: job {job_id[:8]} {waits}, the first of the new queue {job.queue}."
    if queue.paused:
        return f"Submitted: job {job_id[:8]} {waits}. The queue {job.queue} is paused."
    if not serving:
        return f"Submitted: job {job_id[:8]} {waits}. No worker serves the queue {job.queue} now."
    if all(job.type not in worker.types for worker in serving):
        return f"Submitted: job {job_id[:8]} {waits}. No worker of {job.queue} knows the type {job.type} now."
    return f"Submitted: job {job_id[:8]} {waits}."


def states_by_use() -> Iterable[tuple[JobState, ...]]:
    """Where an example is looked for: among jobs that went well first."""
    return ((JobState.COMPLETED,), tuple(state for state in JobState if state is not JobState.COMPLETED))


def _tags(text: str) -> Iterable[str]:
    return dict.fromkeys(tag.strip() for tag in text.split(",") if tag.strip())


def _whole(typed: Typed, name: str, problems: list[FieldProblem]) -> int | None:
    text = typed[name].strip()
    if not text:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    problems.append(FieldProblem(name, "must be a whole number"))
    return None


def _ms(typed: Typed, name: str, problems: list[FieldProblem]) -> int | None:
    text = typed[name].strip()
    if not text:
        return None
    if _SECONDS.fullmatch(text):
        return round(float(text) * 1000)
    problems.append(FieldProblem(name, "must be a number of seconds, as in 90 or 1.5"))
    return None


def _moment(text: str, problems: list[FieldProblem]) -> datetime | None:
    """What a browser's own field for date and time sends, or RFC 3339; without a zone it is UTC."""
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip())
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        problems.append(FieldProblem("at", "must be a date and time, as in 2026-11-30T08:15"))
        return None
