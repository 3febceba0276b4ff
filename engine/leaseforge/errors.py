"""The engine's exceptions.

LeaseforgeError
├── BadInput              a value breaks a rule; nothing was changed
│   └── PayloadTooLarge
├── SettingsError         settings of this process are wrong or missing
├── JobNotFound
├── QueueNotFound
├── WorkerNotFound
├── InvalidTransition     the job's state does not allow the action
├── UniqueKeyTaken        a live job holds the unique key
├── BulkNotFound          no bulk operation with this id
├── BulkNotPossible       the bulk operation's state does not allow the step
├── TooManyOperations     too many bulk operations are not over yet
├── TooManyOwnOperations  too many of the account's own are not over yet
├── IdempotencyConflict   the key was used with another body
├── TooManyQueues
├── TooManyFollowUps      an attempt asked for more jobs than one completion can store
├── AttemptEnded          a follow-up was asked for after its attempt had ended
└── StoreError
    ├── StoreUnavailable  Redis cannot be reached, or not yet; the outcome of a write is unknown
    ├── StoreFull         Redis is out of memory and refuses new jobs
    ├── StoreUnsuitable   Redis runs, but must not be used as it is set up
    └── ScriptFault       a script failed inside Redis: a defect, or keys of a foreign type

Expected outcomes of a race (fenced, paused, empty) are answers, not exceptions.
"""

from collections.abc import Sequence
from dataclasses import dataclass


class LeaseforgeError(Exception):
    """Base of everything this library raises on purpose."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One broken rule: which field, and what would be right."""

    field: str
    message: str


class BadInput(LeaseforgeError):
    """A value breaks a rule. Names every problem at once; nothing was changed."""

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{p.field}: {p.message}" for p in self.problems))


class PayloadTooLarge(BadInput):
    """A payload or result is larger than the engine keeps."""


class SettingsError(LeaseforgeError):
    """Settings of this process are wrong or missing. Names every problem at once."""

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{p.field}: {p.message}" for p in self.problems))


class JobNotFound(LeaseforgeError):
    """No job with this id: it never was, was deleted or purged, or was trimmed after it had ended."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(f"no job {job_id}")


class QueueNotFound(LeaseforgeError):
    """No job was ever enqueued to this queue."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        super().__init__(f"no queue {queue}")


class WorkerNotFound(LeaseforgeError):
    """No worker with this id: it never was, said farewell, or fell silent so long ago that it is forgotten."""

    def __init__(self, worker_id: str) -> None:
        self.worker_id = worker_id
        super().__init__(f"no worker {worker_id}")


class InvalidTransition(LeaseforgeError):
    """The job's state does not allow the action; nothing was changed."""

    def __init__(self, job_id: str, state: str, action: str) -> None:
        self.job_id = job_id
        self.state = state
        self.action = action
        super().__init__(f"cannot {action} job {job_id}: it is {state}")


class UniqueKeyTaken(LeaseforgeError):
    """Another live job holds the job's unique key; nothing was changed."""

    def __init__(self, job_id: str, holder: str) -> None:
        self.job_id = job_id
        self.holder = holder
        super().__init__(f"job {job_id} cannot become ready: the live job {holder} holds its unique key")


class BulkNotFound(LeaseforgeError):
    """No bulk operation with this id: it never was, or its time is over."""

    def __init__(self, operation_id: str) -> None:
        self.operation_id = operation_id
        super().__init__(f"no bulk operation {operation_id}")


class BulkNotPossible(LeaseforgeError):
    """The bulk operation's state does not allow the step; nothing was changed."""

    def __init__(self, operation_id: str, state: str, verb: str) -> None:
        self.operation_id = operation_id
        self.state = state
        self.verb = verb
        super().__init__(f"cannot {verb} bulk operation {operation_id}: it is {state}")


class TooManyOperations(LeaseforgeError):
    """The number of bulk operations that are not over has a bound. `own` are the ids of the account's own."""

    def __init__(self, own: Sequence[str]) -> None:
        self.own = tuple(own)
        yours = f"; yours are {', '.join(self.own)}" if self.own else ""
        super().__init__(f"too many bulk operations are not over yet: one must be run or aborted first{yours}")


class TooManyOwnOperations(LeaseforgeError):
    """The number of one account's bulk operations that are not over has a bound, too. `own` are their ids."""

    def __init__(self, own: Sequence[str]) -> None:
        self.own = tuple(own)
        told = f"{len(self.own)} of your bulk operations are not over yet"
        super().__init__(f"{told}: one of {', '.join(self.own)} must be run or aborted first")


class IdempotencyConflict(LeaseforgeError):
    """The idempotency key was used within 24 h for a job (or an operation) with another body."""

    def __init__(self, key: str, job_id: str) -> None:
        self.key = key
        self.job_id = job_id
        super().__init__(f"idempotency key {key!r} was used for something else ({job_id}) within 24 h")


class TooManyQueues(LeaseforgeError):
    """The number of queues has a bound, so that lists and look-ups stay fast."""


class TooManyFollowUps(LeaseforgeError):
    """One completion stores only so many follow-ups, so that its script call stays short; this one was not taken."""


class AttemptEnded(LeaseforgeError):
    """The handler has returned, or was given up: what its threads and tasks still ask for cannot follow it any more."""


class StoreError(LeaseforgeError):
    """Redis did not do what was asked."""


class StoreUnavailable(StoreError):
    """Redis cannot be reached or is not ready. A write may or may not have happened: repeating it is safe."""


class StoreFull(StoreError):
    """Redis has no memory left and refuses new jobs; running jobs, retries and purges go on."""


class StoreUnsuitable(StoreError):
    """Redis runs, but with settings or contents that would lose jobs. The message names the setting."""


class ScriptFault(StoreError):
    """A script failed inside Redis: a defect of ours, a refused command, or a foreign key of ours' name."""
