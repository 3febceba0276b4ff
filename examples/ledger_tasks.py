"""Tasks of a small bookkeeping service: `leaseforge worker ledger_tasks --queues ledger`."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from leaseforge import Context, task
from leaseforge.tasks import PermanentFailure

DATABASE = Path("ledger.sqlite3")


class Booking(msgspec.Struct):
    """A payload with a shape: anything else is a permanent failure before the task is called."""

    account: str
    cents: int


@task(max_attempts=5, timeout_s=30, backoff_base_s=2)
def book(ctx: Context, booking: Booking) -> dict[str, int]:
    """A plain function runs in a thread, so that a slow database holds up nothing else.

    A job may run twice: its worker can die after the commit and before Leaseforge hears of it. The job's id makes the
    booking happen once. The fence only grows: a worker that was asleep cannot write over its successor.
    """
    if booking.cents == 0:
        raise PermanentFailure("a booking of nothing will not get better")
    with closing(sqlite3.connect(DATABASE, timeout=20)) as database, database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS booking (job TEXT PRIMARY KEY, account TEXT, cents INT, fence INT)"
        )
        database.execute(
            "INSERT INTO booking VALUES (?, ?, ?, ?) ON CONFLICT (job) DO UPDATE SET cents = excluded.cents, "
            "fence = excluded.fence WHERE excluded.fence >= booking.fence",
            (ctx.job_id, booking.account, booking.cents, ctx.fence),
        )
        total = database.execute("SELECT sum(cents) FROM booking WHERE account = ?", (booking.account,)).fetchone()[0]
    return {"total_cents": int(total)}


@task
async def remind(ctx: Context, payload: dict[str, str]) -> str:
    """A coroutine runs on the worker's event loop; what it returns becomes the job's result."""
    return f"reminded {payload['account']} at attempt {ctx.attempt}"
