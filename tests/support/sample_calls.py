"""One call of every script, each from the code that builds it in the product."""

from typing import Any

from leaseforge import attempts, bulk_calls, calls, exchanges, forms, operations, outbox, reads, statistics
from leaseforge.calls import Batch, Call, Plan, Replicated
from leaseforge.enqueueing import enqueue
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.filters import Filter
from leaseforge.held import held_call
from leaseforge.jobs import JobState
from leaseforge.keys import queue_key
from leaseforge.requests import new_job
from leaseforge.search_calls import heads_call, search_call, sizes_call
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
        "purge_dead": calls.purge_dead(queue, before_ms=2**50),
        "retry": calls.retry(queue, job_id, operation="op", payload=b"new"),
        "delete": calls.delete(queue, job_id),
        "read_job": reads.job_call(queue, job_id),
        "read_jobs": _first(reads.jobs(queue, JobState.READY)),
        "search_jobs": search_call(queue, queue_key(queue, "ready"), JobState.READY, Filter(type="work"), None, 5, 5),
        "read_queue": _first(reads.queue(queue)),
        "read_queues": _first(reads.queue_names()),
        "read_heads": heads_call(queue, [JobState.READY, JobState.DEAD]),
        "read_sizes": sizes_call(queue, ["ready", "dead:group:some"]),
        "read_stats": _first(statistics.throughput(queue=queue)),
        "read_shapes": _first(statistics.shapes(queue)),
        "lead": _first(statistics.lead("stats", holder="w1", ttl_ms=1000)),
        "roll": statistics.roll_call(queue),
        "add_stats": statistics.add_call(Step.TEN_SECONDS, 1, [(10_000, [[1] * len(statistics.SERIES)] * 2)]),
        "requeue": calls.requeue(queue, job_id, operation="op"),
        "cancel": calls.cancel(queue, job_id, operation="op"),
        "promote_job": calls.promote_job(queue, job_id, operation="op"),
        **bulk_samples(queue, job_id),
        "configure": _first(operations.configure(queue, {"max_running": 5})),
        "command_worker": _first(operations.command_worker("w1", "quiet")),
        "progress": attempts.progress(queue, job_id, token, percent=5),
        "log": attempts.log(queue, job_id, token, first=1, lines=["one", "two"]),
        "forwarded": outbox.forwarded_call(queue, [(job_id, job_id, ""), (job_id, job_id, "refused")]),
        "read_outbox": _first(outbox.forward(queue)),
        "read_log": _first(reads.log(queue, job_id)),
        "read_group_sizes": _first(reads.groups(queue)),
        "read_groups": reads.groups_call(queue, ["0123456789abcdef", "poison:work"]),
        "read_held": held_call(queue, [job_id]),
        "publish_forms": forms.publish({"work": b"{}"}),
        "read_foreign": _first(reads.foreign_keys()),
        "read_form": forms.form_of("work"),
        "read_worker": _first(reads.worker("w1")),
        "read_workers": _first(reads.workers()),
    }


def bulk_samples(queue: str, job_id: str) -> dict[str, Call[Any]]:
    """The scripts of bulk operations."""
    operation = "0" * 32
    return {
        "bulk_collect": bulk_calls.collect(
            queue,
            operation,
            key="dead",
            state="dead",
            term=1,
            step=0,
            as_of_ms=2**50,
            limit=10,
            most=100,
            wanted={"states": {"dead": True}},
        ),
        "bulk_pick": bulk_calls.pick(
            queue, operation, [job_id], term=1, step=0, as_of_ms=2**50, wanted={"states": {"dead": True}}, stage=1
        ),
        "bulk_act": bulk_calls.act(queue, operation, "retry", term=1, run=1, at=0, limit=10, watch=10),
        "bulk_judge": bulk_calls.judge(queue, operation, limit=10),
        "bulk_halt": bulk_calls.halt(queue, operation, 1),
        "bulk_part": bulk_calls.read_part(queue, operation, sample=20),
        "bulk_drop": bulk_calls.drop(queue, operation),
        "bulk_create": bulk_calls.create(operation, {"action": "retry"}, user="ada"),
        "bulk_steer": bulk_calls.steer(operation, "run", user="ada", reason="why", fields={"rate": "7"}),
        "bulk_note": bulk_calls.note(operation, {"done": "1"}, term=1, before="running", after="done"),
        "bulk_read": bulk_calls.read_operation(operation),
        "bulk_list": bulk_calls.read_operations(bulk_calls.ALL, offset=0, limit=50, states=["done"]),
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
