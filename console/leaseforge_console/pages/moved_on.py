"""What an operator is told when a job has moved on since it was shown: how it stands now, and what was not done."""

from leaseforge import reads
from leaseforge.answers import Answer
from leaseforge.calls import Plan
from leaseforge.errors import InvalidTransition
from leaseforge.jobs import Job
from leaseforge.store import Store
from leaseforge_console.live import read_snapshot
from leaseforge_console.views.job_asks import late


class MovedOn(InvalidTransition):
    """The job's state did not allow the action any more; says how it stands, and what was not done."""

    def __init__(self, error: InvalidTransition, job: Job, told: str) -> None:
        super().__init__(error.job_id, error.state, error.action)
        self.job = job
        self.told = told

    def __str__(self) -> str:
        return self.told


async def carried_out(store: Store, job_id: str, action: Plan[Answer], *, undone: str) -> Answer:
    """Does it; `undone` is what the job was not if it has moved on. Raises MovedOn and whatever the action raises."""
    try:
        return await store.run(action)
    except InvalidTransition as error:
        job = await store.run(reads.job(job_id))
        raise MovedOn(error, job, late(job, (await read_snapshot(store)).now, undone)) from error
