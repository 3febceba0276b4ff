"""Enqueues jobs for ledger_tasks.py, first from a plain program, then from asyncio."""

import asyncio
import os

from leaseforge import AsyncClient, Client, new_job

URL = os.environ.get("LEASEFORGE_REDIS_URL", "redis://127.0.0.1:6379/0")


def from_a_plain_program() -> None:
    """A booking that may be sent again: the key gives the first job back for 24 hours."""
    with Client(URL) as client:
        for _ in range(2):
            booked = client.enqueue(
                "book", {"account": "ada", "cents": 1250}, queue="ledger", priority=5, idempotency_key="invoice-17"
            )
            print(f"{booked.id} {booked.answer}")


async def from_asyncio() -> None:
    """A reminder in a moment, and many bookings in one call."""
    async with AsyncClient(URL) as client:
        reminder = await client.enqueue("remind", {"account": "ada"}, queue="ledger", delay_ms=500)
        print(f"{reminder.id} {reminder.answer}")
        bookings = [new_job("book", {"account": "grace", "cents": cents}, queue="ledger") for cents in (100, 200, 0)]
        for booked in await client.enqueue_many(bookings):
            print(f"{booked.id} {booked.answer}")


if __name__ == "__main__":
    from_a_plain_program()
    asyncio.run(from_asyncio())
