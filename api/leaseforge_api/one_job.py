"""What routes that act on one job have in common: each action is done once for each of the caller's keys."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath
from msgspec import structs

from leaseforge import reads
from leaseforge.answers import Answer
from leaseforge.calls import Plan
from leaseforge.errors import JobNotFound
from leaseforge.store import Store
from leaseforge_api.schemas.job import JobShown, shown_to
from leaseforge_api.schemas.jobs import ActionRequest, IdempotencyKey, RetryRequest
from leaseforge_auth.identity import Identity

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OneJob:
    """The job a path names, and who acts on it."""

    id: str
    store: Store
    identity: Identity
    key: str | None

    async def act(
        self,
        verb: str,
        action: Callable[..., Plan[Answer]],
        event: str,
        asked: ActionRequest | RetryRequest | None = None,
    ) -> None:
        """Carries out an action, and logs it. Raises what the action raises.

        A caller's key counts for this caller, job and `verb` only, so it needs no bound but its length.
        """
        key = f"{verb}\0{self.identity.username}\0{self.id}\0{self.key}" if self.key else uuid.uuid4().hex
        await self.store.run(action(self.id, operation=uuid.uuid5(uuid.NAMESPACE_OID, key).hex))
        reason = asked.reason if asked else None
        log.info(event, job_id=self.id, user=self.identity.username, reason=reason)

    async def acted_on(
        self,
        verb: str,
        action: Callable[..., Plan[Answer]],
        event: str,
        asked: ActionRequest | RetryRequest | None = None,
    ) -> JobShown:
        """The same; the job after it.

        One that somebody else has removed since is told as it was before, with the status `gone`: the action was
        done. Raises JobNotFound, and what the action raises.
        """
        before = await self.store.run(reads.job(self.id))
        await self.act(verb, action, event, asked)
        try:
            return shown_to(self.identity, await self.store.run(reads.job(self.id)))
        except JobNotFound:
            return structs.replace(shown_to(self.identity, before), status="gone")


def _one_job(
    job_id: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    idempotency_key: IdempotencyKey = None,
) -> OneJob:
    return OneJob(job_id, store, identity, idempotency_key)


ONE_JOB = {"job": Provide(_one_job, sync_to_thread=False)}
"""For the routers of such routes, which take it as `job`."""
