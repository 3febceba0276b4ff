"""Tasks of a small shop, so that the screenshots show something to look at."""

import asyncio
import random
from typing import Any

from leaseforge import Context, task


class GatewayTimeout(Exception):
    """The payment provider did not answer."""


async def charge(amount: str, *, fence: int) -> None:
    """Asks the payment provider, who is slow today."""
    await asyncio.sleep(0.2)
    raise GatewayTimeout(f"no answer from pay.example in 30 s (amount {amount}, fence {fence})")


@task(max_attempts=3, backoff_base_s=0.2, timeout_s=30)
async def charge_card(ctx: Context, payload: dict[str, Any]) -> None:
    """Charges a card; the orders of the screenshots all fail."""
    await charge(payload["amount"]["value"], fence=ctx.fence)


@task
async def send_email(_ctx: Context, payload: dict[str, Any]) -> dict[str, Any]:
    """Sends nothing, quickly."""
    await asyncio.sleep(random.uniform(0.05, 0.2))
    return {"accepted": [payload["to"]], "message_id": "0100018b@mail.example"}


@task
async def sync_crm(_ctx: Context, _payload: Any) -> None:
    """Takes a while."""
    await asyncio.sleep(600)
