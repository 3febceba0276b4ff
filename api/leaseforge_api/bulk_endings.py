"""What the audit trail says of a bulk operation's run that is over."""

import uuid

from leaseforge.bulk_records import BulkState
from leaseforge.bulk_work import Work
from leaseforge_auth.audit.entries import MAX_REASON, Entry, Result, Step


def ending(work: Work) -> Entry:
    """The entry, with the counts. The same end of the same run has the same id: told twice it can be seen to be one."""
    operation, counts = work.operation, work.counts()
    is_good = operation.state is not BulkState.FAILED
    detail = {
        "state": operation.state,
        "action": operation.order.action,
        "total": counts.total,
        "done": counts.done,
        "changed": counts.changed,
        "gone": counts.gone,
        "failed": dict(counts.failed),
    }
    return Entry(
        id=uuid.uuid5(uuid.NAMESPACE_OID, f"{operation.id} {operation.run} {operation.state}").hex,
        step=Step.OUTCOME,
        at_ms=0,
        action="bulk.run",
        user=operation.run_by or "",
        target=operation.id,
        reason=operation.run_reason[:MAX_REASON],
        began_at_ms=round(operation.started_at.timestamp() * 1000) if operation.started_at else 0,
        result=Result.OK if is_good else Result.FAILED,
        status=200 if is_good else 500,
        detail=detail | ({"error": operation.error} if operation.error else {}),
    )
