"""What an account needs to let a bulk operation act: the same as for each of its jobs alone."""

from leaseforge.bulk_records import BulkAction, BulkOrder
from leaseforge.jobs import JobState
from leaseforge_auth.errors import NotPermitted
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

WRITES = (Permission.JOBS_WRITE, Permission.DLQ_WRITE, Permission.DELAYED_WRITE)
"""Whoever has none of these has nothing to do with operations but to look on."""


def permissions_for(order: BulkOrder) -> set[Permission]:
    """What the action's single form needs: of dead jobs, of delayed ones to be promoted, of all others."""
    if order.action is BulkAction.PROMOTE:
        return {Permission.DELAYED_WRITE}
    states = order.filter.states_for(order.action)
    needed = {Permission.DLQ_WRITE} if JobState.DEAD in states else set()
    return needed | ({Permission.JOBS_WRITE} if any(state is not JobState.DEAD for state in states) else set())


def check_may(identity: Identity, order: BulkOrder) -> None:
    """Raises NotPermitted, naming what is missing."""
    missing = sorted(needed for needed in permissions_for(order) if not identity.can(needed))
    if missing:
        raise NotPermitted(" and ".join(missing))
