"""Delivers webhooks: a handler whose side effect can be repeated, and how its receiver tells.

Start a worker for it from this folder, then submit a job:

    WEBHOOK_HOSTS=hooks.example.com leaseforge worker webhooks --queues webhooks

    Client().enqueue("deliver_webhook", {"url": "https://hooks.example.com/in", "event": "paid", "data": {"order": 7}},
                     queue="webhooks")

Jobs run at least once. If a worker dies after the receiver took the call and before the job was
settled, another worker calls again. So each call carries the job's id, by which a receiver knows a
repeat, and the fencing number, by which it knows a late call of a worker that has lost the job.
"""

import os
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import msgspec

from leaseforge import Context, PermanentFailure, task

TIMEOUT_S = 10.0
TRY_AGAIN = {408, 409, 425, 429}
"""Refusals that may be different next time; any other 4xx will not."""


class Webhook(msgspec.Struct, forbid_unknown_fields=True):
    """Where to deliver which event."""

    url: str
    event: str
    data: dict[str, Any] = {}


class Delivered(msgspec.Struct):
    """What the receiver answered; kept as the job's result."""

    status: int
    attempt: int


class NotDelivered(Exception):
    """The receiver is away or asked for another try; the job is tried again with growing pauses."""


class _StayThere(HTTPRedirectHandler):
    """A redirect could lead anywhere, past the list of hosts."""

    def redirect_request(self, *_: Any) -> None:
        """Follows none: the 3xx answer is a refusal."""


_opener = build_opener(_StayThere)


@task(max_attempts=8, timeout_s=2 * TIMEOUT_S, backoff_base_s=2, backoff_cap_s=900)
def deliver_webhook(ctx: Context, payload: Webhook) -> Delivered:
    """Posts the event as JSON. A host that is not in WEBHOOK_HOSTS is never called."""
    check_address(payload.url, allowed=os.environ.get("WEBHOOK_HOSTS", "").split(","))
    request = Request(  # noqa: S310 - the scheme was checked
        payload.url,
        data=msgspec.json.encode({"event": payload.event, "data": payload.data}),
        headers={
            "Content-Type": "application/json",
            "Webhook-Id": ctx.job_id,
            "Webhook-Fence": str(ctx.fence),
            "Webhook-Attempt": str(ctx.attempt),
        },
        method="POST",
    )
    try:
        with _opener.open(request, timeout=TIMEOUT_S) as answer:
            return Delivered(answer.status, ctx.attempt)
    except HTTPError as refusal:
        with refusal:
            if refusal.code < 500 and refusal.code not in TRY_AGAIN:
                raise PermanentFailure(f"the receiver refuses: {refusal.code}") from None
            raise NotDelivered(f"the receiver answered {refusal.code}") from None
    except OSError as error:
        raise NotDelivered(f"the receiver cannot be reached: {error}") from error


def check_address(url: str, *, allowed: list[str]) -> None:
    """Refuses for good what a worker must not call: producers choose the address, the operator the hosts."""
    try:
        parts = urlsplit(url)
        host = parts.netloc
    except ValueError as error:
        raise PermanentFailure(f"not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise PermanentFailure("webhooks go to http or https addresses")
    if host not in {name.strip() for name in allowed if name.strip()}:
        raise PermanentFailure(f"{host!r} is not among the hosts of WEBHOOK_HOSTS")
