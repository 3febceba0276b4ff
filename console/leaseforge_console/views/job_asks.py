"""The questions before something is done to one job that cannot be taken back, with how the job stands just then."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from leaseforge.jobs import Job, JobState
from leaseforge_console.filters import relative, span
from leaseforge_console.views.queue import told_when

WAITING = (JobState.READY, JobState.SCHEDULED, JobState.RETRYING)
LIVE = (*WAITING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class Ask:
    """One question. `refused` says why the answer is no already; `fields` go along with the form.

    `state` among them is what the operator was shown: what is not so any more is not done.
    """

    id: str
    type: str
    state: JobState
    when: str
    question: str
    what: str
    does: str
    to: str
    refused: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answered:
    """What a question sends back. `reason` is for the audit trail, which reads it by itself."""

    operation: str = ""
    state: str = ""
    reason: str = ""

    def shown(self, *otherwise: JobState) -> tuple[JobState, ...]:
        """The state the operator was shown, as far as there is such a state."""
        return (JobState(self.state),) if self.state in tuple(JobState) else otherwise


def standing(job: Job, now: datetime) -> str:
    """How a job stands, as a sentence goes on behind "it": `was completed 2 s ago`."""
    ended = f" {relative(job.finished_at, now)}" if job.finished_at else ""
    match job.state:
        case JobState.COMPLETED:
            return f"was completed{ended}"
        case JobState.DEAD:
            return f"died{ended}"
        case JobState.CANCELLED:
            return f"was cancelled{ended}"
        case JobState.RUNNING:
            return f"has been running for {span((now - job.started_at).total_seconds())}" if job.started_at else "runs"
        case JobState.READY:
            return f"has been ready for {span((now - job.ready_at).total_seconds())}" if job.ready_at else "is ready"
    return f"is {job.state.value}, due {relative(job.due_at, now)}" if job.due_at else f"is {job.state.value}"


def cancel(job: Job, now: datetime) -> Ask:
    """Before a live job is cancelled."""
    if job.state is JobState.RUNNING:
        what = (
            "This asks the running job to stop. Its worker hears of it when it renews the lease next, within seconds, "
            "stops the handler and puts the job among the cancelled ones. Until then it runs on, and should it "
            "complete or fail for good first, that counts. What it has done by then is not undone."
        )
    else:
        again = " again" if job.attempts else ""
        what = (
            f"This cancels one job of the queue {job.queue} before it runs{again}. It is kept as cancelled for a while."
        )
    refused = "" if job.state in LIVE else late(job, now, "cancelled")
    if job.cancel_requested:
        refused = "The job has been asked to stop already. Its worker hears of it when it renews the lease next."
    return _ask(job, now, "cancel", "Cancel this job?", what, "Cancel the job", refused)


def requeue(job: Job, now: datetime) -> Ask:
    """Before a job that has ended runs once more."""
    result = " Its result is cleared." if job.result is not None else ""
    what = (
        f"This puts one job of the queue {job.queue} back, with the same payload and a fresh budget of failures."
        f"{result} Whatever it did the first time, it does again."
    )
    refused = "" if job.state not in LIVE else late(job, now, "put back")
    return _ask(job, now, "requeue", "Run this job once more?", what, "Run it again", refused)


def delete(job: Job, now: datetime) -> Ask:
    """Before a job is removed."""
    what = (
        f"This deletes one job of the queue {job.queue}, with its payload and its history. It cannot be brought back."
    )
    refused = ""
    if job.state is JobState.RUNNING:
        refused = "The job runs right now and cannot be deleted before it ends. Cancel it first."
    return _ask(job, now, "delete", "Delete this job?", what, "Delete the job", refused)


def late(job: Job, now: datetime, undone: str) -> str:
    """Why nothing was done to a job that has moved on: `undone` is what it was not."""
    return f"It {standing(job, now)}: nothing was {undone}."


def _ask(job: Job, now: datetime, verb: str, question: str, what: str, does: str, refused: str) -> Ask:
    return Ask(
        id=job.id,
        type=job.type,
        state=job.state,
        when=told_when(job, now)[0],
        question=question,
        what=what,
        does=does,
        to=f"/jobs/{job.id}/{verb}",
        refused=refused,
        fields={"operation": f"rev-{job.rev}", "state": job.state.value},
    )
