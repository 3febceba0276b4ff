"""What an operator is told when a job has moved on since it was shown: how it stands now, and what was not done."""

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from litestar import Response

from leaseforge import reads
from leaseforge.answers import Answer
from leaseforge.calls import Plan
from leaseforge.errors import InvalidTransition
from leaseforge.jobs import Job
from leaseforge_console.views.job_asks import late
from leaseforge_console.visit import Visit


class MovedOn(InvalidTransition):
    """The job's state did not allow the action any more; says how it stands, and what was not done.

    `answer` is what is shown instead of the page of an error, None for that page.
    """

    answer: Response[Any] | None = None

    def __init__(self, job: Job, action: str, told: str) -> None:
        super().__init__(job.id, job.state, action)
        self.job = job
        self.told = told

    def __str__(self) -> str:
        return self.told


Otherwise = Callable[[Visit, MovedOn], Awaitable[Response[Any] | None]]
"""How it is answered that a job has moved on."""


async def refuse(visit: Visit, moved: MovedOn, otherwise: Otherwise | None) -> NoReturn:
    """Raises it with its answer: exception handlers cannot wait for one."""
    moved.answer = await otherwise(visit, moved) if otherwise else None
    raise moved


async def carried_out(
    visit: Visit, job_id: str, action: Plan[Answer], event: str, *, undone: str, otherwise: Otherwise | None = None
) -> bool:
    """Does it and logs it as `event`; False where the same form did it before.

    `undone` is what the job was not if it has moved on. Raises MovedOn and whatever the action raises.
    """
    try:
        answer = await visit.store.run(action)
    except InvalidTransition as error:
        job = await visit.store.run(reads.job(job_id))
        moved = MovedOn(job, error.action, late(job, (await visit.snapshot()).now, undone))
        await refuse(visit, moved, otherwise)
    visit.did(event, job_id=job_id)
    return answer is not Answer.ALREADY_DONE
