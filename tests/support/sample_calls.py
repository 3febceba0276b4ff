"""One call of every script, each from the code that builds it in the product."""

from typing import Any

from leaseforge import attempts, calls, exchanges, operations, outbox, reads, statistics
from leaseforge.calls import Batch, Call, Plan, Replicated
from leaseforge.enqueueing import enqueue
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.statistics import Step
from leaseforge.store.checks import layout_call
from leaseforge.workers import WorkerReport, WorkerState
from tests.support.live_queue import trim_call

QUEUE = "line"
JOB = "00000000-0000-4000-8000-000000000001"

PARTS = frozenset({"claim", "settle", "promote", "recover", "trim"})
"""Transitions that only travel inside a composed script."""

REPORT = WorkerReport(
    id="w1",
    host="host",
    pid=1,
    version="1",
    queues=(QUEUE, "other"),
    types=("work",),
    slots=2,
    state=WorkerState.RUNNING,
    rss_bytes=1,
    started_ms=1,
    ttl_ms=5000,
)


def sample_calls(*, queue: str = QUEUE, job_id: str = JOB, token: str = "1.w1") -> dict[str, Call[Any]]:
    """By script name. Everything per queue goes to `queue`; what settles or renews presents `token` for `job_id`."""
    settlement = Settlement(job_id, token, Outcome.FAIL, error_kind="Broken", delay_ms=1000)
    return {
        "schema": layout_call(),
        "enqueue": enqueue(queue, [new_job("work", queue=queue), new_job("work", queue=queue, delay_ms=1000)]),
        "exchange": exchanges.exchange(
            queue, run_id="w1", number=1, lease_ms=10_000, want=2, settlements=[settlement, settlement]
        ),
        "renew": exchanges.renew(queue, lease_ms=10_000, held=[(job_id, token), (job_id, "1.w2")]),
        "tick": exchanges.tick(queue),
        "trim": trim_call(queue),
        "register_queue": _first(operations.enqueue(new_job("work", queue=queue))),
        "register_worker": exchanges.register_worker(REPORT),
        "deregister_worker": exchanges.deregister_worker("w1", (queue, "other")),
        "pause": calls.pause(queue),
        "resume": calls.resume(queue),
        "purge": calls.purge(queue, sequence=1_000_000, as_of_ms=2**50),
        "retry": calls.retry(queue, job_id, operation="op", payload=b"new"),
        "delete": calls.delete(queue, job_id),
        "read_job": reads.job_call(queue, job_id),
        "read_jobs": _first(reads.jobs(queue, JobState.READY)),
        "read_queue": _first(reads.queue(queue)),
        "read_queues": _first(reads.queue_names()),
        "read_stats": _first(statistics.throughput(queue=queue)),
        "read_shapes": _first(statistics.shapes(queue)),
        "lead": _first(statistics.lead("stats", holder="w1", ttl_ms=1000)),
        "roll": statistics.roll_call(queue),
        "add_stats": statistics.add_call(Step.TEN_SECONDS, 1, [(10_000, [[1] * len(statistics.SERIES)] * 2)]),
        "requeue": calls.requeue(queue, job_id, operation="op"),
        "cancel": calls.cancel(queue, job_id, operation="op"),
        "configure": _first(operations.configure(queue, {"max_running": 5})),
        "command_worker": _first(operations.command_worker("w1", "quiet")),
        "progress": attempts.progress(queue, job_id, token, percent=5),
        "log": attempts.log(queue, job_id, token, first=1, lines=["one", "two"]),
        "forwarded": outbox.forwarded_call(queue, [(job_id, job_id, ""), (job_id, job_id, "refused")]),
        "read_outbox": _first(outbox.forward(queue)),
        "read_log": _first(reads.log(queue, job_id)),
        "read_groups": _first(reads.groups(queue)),
        "read_worker": _first(reads.worker("w1")),
        "read_workers": _first(reads.workers()),
    }


def _first(plan: Plan[Any]) -> Call[Any]:
    """The first call of a plan, alone or of its first batch."""
    step = next(plan)
    plan.close()
    match step:
        case Call():
            return step
        case Batch():
            return step.calls[0]
        case Replicated():
            return step.call
