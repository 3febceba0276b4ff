"""What workers do, as flows for the explorer."""

from typing import Any

from leaseforge import exchanges
from leaseforge.claimed import Claimed
from leaseforge.exchanges import Exchanged, Outcome, Settlement
from tests.support.interleaving import TurnStore
from tests.support.live_queue import LEASE_MS


class FlowWorker:
    """A worker with one queue and its numbered exchanges. `run_id` tells it from others, and from LiveQueue's own."""

    def __init__(self, store: TurnStore, queue: str = "line", *, run_id: str = "flow") -> None:
        self.store = store
        self.queue = queue
        self.run_id = run_id
        self.number = 0

    async def exchange(self, want: int = 0, *settlements: Settlement, again: bool = False) -> Exchanged:
        """The next exchange, or the last one sent `again`."""
        self.number += not again
        call = exchanges.exchange(
            self.queue,
            run_id=self.run_id,
            number=self.number,
            lease_ms=LEASE_MS,
            want=want,
            settlements=settlements,
        )
        return await self.store.run(call)

    async def claim(self, want: int = 1) -> tuple[Claimed, ...]:
        return (await self.exchange(want)).claimed

    async def settle(self, claimed: Claimed, outcome: Outcome = Outcome.COMPLETE, **details: Any) -> str:
        """Ends one attempt: the state it led to, or fenced, or already_done."""
        answer = await self.exchange(0, Settlement(claimed.id, claimed.token, outcome, **details))
        return str(answer.states[0] or answer.settled[0])

    async def renew(self, *held: Claimed) -> tuple[str, ...]:
        pairs = [(job.id, job.token) for job in held]
        answers = await self.store.run(exchanges.renew(self.queue, lease_ms=LEASE_MS, held=pairs))
        return tuple(str(answer) for answer in answers)
