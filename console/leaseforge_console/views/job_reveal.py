"""The question before masked values are shown, and the page that shows them once."""

import re
from dataclasses import dataclass

from leaseforge.jobs import Job
from leaseforge.requests import JSON
from leaseforge_auth.audit.entries import MAX_REASON, SAYS_SOMETHING
from leaseforge_console.payloads import Shown, reveal
from leaseforge_console.views.frame import Link

WHOLE = ("payload", "result")


@dataclass(frozen=True, slots=True)
class RevealForm:
    """The question; `problem` says what is wrong with the reason."""

    id: str
    type: str
    queue: str
    reason: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Revealed:
    """The page. Reloading it asks again, and is written down again."""

    id: str
    type: str
    queue: str
    reason: str
    content_type: str
    payload: Shown | None
    result: Shown | None
    entry: Link | None


def form(job: Job, reason: str = "", problem: str = "") -> RevealForm:
    """Asks for a reason."""
    return RevealForm(job.id, job.type, job.queue, reason, problem)


def revealed(job: Job, reason: str, entry: Link | None) -> Revealed:
    """Shows everything."""
    return Revealed(
        id=job.id,
        type=job.type,
        queue=job.queue,
        reason=reason,
        content_type=job.content_type,
        payload=reveal(job.payload, job.content_type) if job.payload is not None else None,
        result=reveal(job.result, JSON) if job.result else None,
        entry=entry,
    )


def problem_of(reason: str) -> str:
    """What is wrong with a reason, '' if nothing is."""
    if not re.search(SAYS_SOMETHING, reason):
        return "Say why: it is kept in the audit trail."
    return f"At most {MAX_REASON} characters." if len(reason) > MAX_REASON else ""
