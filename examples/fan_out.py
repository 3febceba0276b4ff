"""One job that becomes many, in queues of their own: `leaseforge worker fan_out --queues reports,mail`."""

import msgspec

from leaseforge import Context, task


class Month(msgspec.Struct):
    """Which accounts get a statement for which month."""

    month: str
    accounts: list[str]


@task
async def send_statements(ctx: Context, payload: Month) -> int:
    """Asks for one statement an account; the jobs exist once this one completes, all of them or none.

    If it fails halfway or its worker dies, nothing was asked for, and the next attempt starts from the beginning. More
    than 200 accounts need jobs between: each takes some of the accounts and asks for their statements.
    """
    for done, account in enumerate(payload.accounts, 1):
        ctx.enqueue("send_statement", {"account": account, "month": payload.month}, queue="mail")
        ctx.progress(100 * done / len(payload.accounts), account)
    ctx.enqueue("note_sent", payload)  # this job's own queue
    ctx.log(f"{len(payload.accounts)} statements for {payload.month}")
    return len(payload.accounts)


@task(max_attempts=5)
def send_statement(ctx: Context, payload: dict[str, str]) -> str:
    """Each statement has its own retries; it shows up in the queue of mails, with their pace."""
    ctx.log(f"a statement for {payload['account']}")
    return f"{payload['account']} {payload['month']}"


@task
async def note_sent(ctx: Context, payload: Month) -> None:
    """Notes that the month was handed over to the mail queue."""
    ctx.log(f"{payload.month} is on its way")
