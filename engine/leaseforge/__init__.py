"""Leaseforge: background jobs on Redis with leases, fencing and an operator's console.

Producers use `Client` or `AsyncClient`; task authors `task` and `Context`. Everything else in this
package is for the worker, the API and the console.
"""

from typing import TYPE_CHECKING

from leaseforge.on_demand import attributes, names_of

if TYPE_CHECKING:
    from leaseforge.answers import Answer
    from leaseforge.client import AsyncClient, Client
    from leaseforge.context import Context
    from leaseforge.enqueueing import Enqueued
    from leaseforge.errors import (
        AttemptEnded,
        BadInput,
        FieldProblem,
        IdempotencyConflict,
        InvalidTransition,
        JobNotFound,
        LeaseforgeError,
        PayloadTooLarge,
        QueueNotFound,
        StoreError,
        StoreFull,
        StoreUnavailable,
        StoreUnsuitable,
        TooManyFollowUps,
    )
    from leaseforge.jobs import Backoff, Job, JobState, NewJob, Options
    from leaseforge.middleware import Middleware
    from leaseforge.queues import QueueInfo
    from leaseforge.registry import Registry
    from leaseforge.requests import new_job
    from leaseforge.tasks import PermanentFailure, task

__all__ = [
    "Answer",
    "AsyncClient",
    "AttemptEnded",
    "Backoff",
    "BadInput",
    "Client",
    "Context",
    "Enqueued",
    "FieldProblem",
    "IdempotencyConflict",
    "InvalidTransition",
    "Job",
    "JobNotFound",
    "JobState",
    "LeaseforgeError",
    "Middleware",
    "NewJob",
    "Options",
    "PayloadTooLarge",
    "PermanentFailure",
    "QueueInfo",
    "QueueNotFound",
    "Registry",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "StoreUnsuitable",
    "TooManyFollowUps",
    "new_job",
    "task",
]

_HOMES = {
    "Answer": "answers",
    "AsyncClient": "client",
    "AttemptEnded": "errors",
    "Backoff": "jobs",
    "BadInput": "errors",
    "Client": "client",
    "Context": "context",
    "Enqueued": "enqueueing",
    "FieldProblem": "errors",
    "IdempotencyConflict": "errors",
    "InvalidTransition": "errors",
    "Job": "jobs",
    "JobNotFound": "errors",
    "JobState": "jobs",
    "LeaseforgeError": "errors",
    "Middleware": "middleware",
    "NewJob": "jobs",
    "Options": "jobs",
    "PayloadTooLarge": "errors",
    "PermanentFailure": "tasks",
    "QueueInfo": "queues",
    "QueueNotFound": "errors",
    "Registry": "registry",
    "StoreError": "errors",
    "StoreFull": "errors",
    "StoreUnavailable": "errors",
    "StoreUnsuitable": "errors",
    "TooManyFollowUps": "errors",
    "new_job": "requests",
    "task": "tasks",
}
if not TYPE_CHECKING:  # or type checkers would believe in any name
    __getattr__ = attributes(__name__, _HOMES)
    __dir__ = names_of(__name__, _HOMES)
