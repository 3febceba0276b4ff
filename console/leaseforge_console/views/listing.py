"""A page of a list of jobs over queues: its rows, and how far was looked."""

from dataclasses import dataclass
from datetime import datetime

from leaseforge.jobs import Job, JobState
from leaseforge.searching import Found
from leaseforge_console.filters import clock, exact, plural
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.queue import failures, told_when

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job in a list. `when` says what its state makes worth knowing, `at` is the exact time behind it.

    `operation` names an action on exactly this revision: pressed twice it is done once.
    """

    id: str
    queue: str
    type: str
    state: JobState
    priority: int
    attempts: int
    failures: str
    when: str
    at: str
    error_kind: str
    error_message: str
    operation: str


@dataclass(frozen=True, slots=True)
class Further:
    """The foot of a list: what the page shows of how much, and the ways back to the start and on."""

    text: str
    first: str | None
    following: str | None
    word: str


def rows(found: Found, now: datetime) -> tuple[ListedJob, ...]:
    """The page's jobs in the order they were found."""
    return tuple(_row(job, now) for job in found.items)


def further(found: Found, path: str, asked: Asked, now: datetime) -> Further:
    """What was found, told honestly: a search that stopped early says how far it came."""
    count = len(found.items)
    if found.total is not None:
        text = f"{count:,} of {plural(found.total, 'job')}" if count < found.total else plural(count, "job")
    else:
        on_page = " on this page" if found.next or asked.place else ""
        text = (
            f"{count:,} found{on_page} · searched {found.searched:,} of {plural(found.of, 'job')} at {clock(now)} UTC"
        )
    stopped = found.total is None and count < PAGE_SIZE
    return Further(
        text=text,
        first=path + asked.at("").query() if asked.place else None,
        following=path + asked.at(found.next).query() if found.next else None,
        word="Search further" if stopped else "Next",
    )


def _row(job: Job, now: datetime) -> ListedJob:
    when, at = told_when(job, now)
    return ListedJob(
        id=job.id,
        queue=job.queue,
        type=job.type,
        state=job.state,
        priority=job.priority,
        attempts=job.attempts,
        failures=failures(job),
        when=when,
        at=exact(at) if at else "",
        error_kind=(job.error.kind if job.error else job.reason) or "",
        error_message=job.error.message if job.error else "",
        operation=f"rev-{job.rev}",
    )
