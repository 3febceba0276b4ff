"""A dead job's payload in an editor, and what a retry with the edited one would change.

Masked values stand as numbered markers and are put back when the job is retried, unless something else was typed.
"""

from dataclasses import dataclass
from datetime import datetime

from leaseforge.jobs import Job, JobState
from leaseforge_auth.masking import is_json
from leaseforge_console.filters import size
from leaseforge_console.json_text import Fault, compact, fault_in, pretty, restored, with_markers, without_new_secrets
from leaseforge_console.payloads import masked_words, visible
from leaseforge_console.views.changes import Changes, changes
from leaseforge_console.views.job_asks import standing

MAX_BYTES = 256 * 1024
"""Larger payloads are sent by the API: a browser's text field copes badly with them."""


@dataclass(frozen=True, slots=True)
class Editor:
    """The page. `refused` says why this payload cannot be edited here, `note` what to know about the text."""

    id: str
    type: str
    queue: str
    state: JobState
    text: str
    masked: int
    operation: str
    refused: str
    note: str
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be sent, and how it differs. `text` is what was typed, for the way back and on."""

    id: str
    type: str
    queue: str
    text: str
    operation: str
    size: int
    size_before: int
    changes: Changes
    is_same: bool


@dataclass(frozen=True, slots=True)
class Edited:
    """What an edited text comes to: the payload, or why it is none. `is_same`: nothing was changed."""

    payload: bytes
    fault: Fault | None
    is_same: bool = False


def editor(job: Job, now: datetime, *, text: str | None = None, fault: Fault | None = None) -> Editor:
    """The payload to edit; `text` is what somebody typed already, `fault` what is wrong with it."""
    refused = refusal(job, now)
    begins, note, masked = ("", "", 0) if refused else _beginning(job)
    return Editor(
        id=job.id,
        type=job.type,
        queue=job.queue,
        state=job.state,
        text=begins if text is None else text,
        masked=masked,
        operation=f"rev-{job.rev}",
        refused=refused,
        note=note,
        fault=fault,
    )


def refusal(job: Job, now: datetime) -> str:
    """Why the payload of this job cannot be edited here, '' if it can."""
    if job.state is not JobState.DEAD:
        return f"It {standing(job, now)}: only the payload of a dead job can be changed."
    if job.payload is None:
        return "Its payload is gone. Submit a new job instead."
    if not is_json(job.content_type):
        return f"Its payload is {visible(job.content_type)}, not JSON: retry it as it is, or submit a new job."
    if len(job.payload) > MAX_BYTES:
        return (
            f"Its payload is {size(len(job.payload))}; here at most {size(MAX_BYTES)} can be edited. Download it, and "
            f"send the changed one to POST /api/jobs/{job.id}/retry."
        )
    try:
        job.payload.decode()
    except UnicodeDecodeError:
        return "Its payload is binary, though it was called JSON: retry it as it is, or submit a new job."
    return ""


def edited(job: Job, text: str) -> Edited:
    """Checks an edited text and puts masked values back. For jobs that are not refused."""
    fault = None
    if len(text.encode(errors="replace")) > MAX_BYTES:
        fault = Fault(f"At most {size(MAX_BYTES)} can be sent from here")
    fault = fault or fault_in(text)
    if fault:
        return Edited(b"", fault)
    before = _text(job)
    was_json = fault_in(before) is None
    marked, values = with_markers(before) if was_json else ("", ())
    whole, fault = restored(text, values)
    if fault:
        return Edited(b"", fault)
    # Another layout of the same JSON is no change.
    return Edited(compact(whole).encode(), None, was_json and pretty(text) == pretty(marked))


def preview(job: Job, text: str, done: Edited) -> Preview:
    """What a retry with the edited payload changes, secrets masked on both sides."""
    before = _text(job)
    old = pretty(with_markers(before)[0]) if fault_in(before) is None else masked_words(visible(before))[0]
    new = pretty(without_new_secrets(text))
    return Preview(
        id=job.id,
        type=job.type,
        queue=job.queue,
        text=text,
        operation=f"rev-{job.rev}",
        size=len(done.payload),
        size_before=len(job.payload or b""),
        changes=changes(old, new),
        is_same=done.is_same,
    )


def _text(job: Job) -> str:
    return (job.payload or b"").decode(errors="replace")


def _beginning(job: Job) -> tuple[str, str, int]:
    """The text to begin with, what to know about it, and how many values are masked in it."""
    text = _text(job)
    fault = fault_in(text)
    if fault is None:
        marked, values = with_markers(text)
        return pretty(marked), "", len(values)
    if masked_words(text)[1] or visible(text) != text or "\x00" in text:
        return "", f"The payload is not valid JSON ({fault}) and holds what cannot be shown here: write it anew.", 0
    return text, f"The payload is not valid JSON. {fault}", 0
