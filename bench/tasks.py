"""The task that is drained: as little as a task can do."""

from leaseforge import Context, task


@task
async def nothing(_ctx: Context, payload: dict[str, int]) -> None:
    """Does nothing."""
