"""Tasks of the tracing tests. Their own spans go through OpenTelemetry's API, as an author's would."""

import os
import signal
from pathlib import Path
from typing import Any

from opentelemetry import trace

from leaseforge import Client, Context, task

tracer = trace.get_tracer("the author's")


@task(name="coroutine")
async def coroutine(ctx: Context, payload: Any) -> None:
    with tracer.start_as_current_span("work in a coroutine"):
        ctx.enqueue("follow", queue=payload["follow"])


@task(name="threaded")
def threaded(ctx: Context, payload: Any) -> None:
    with tracer.start_as_current_span("work in a thread"), Client(os.environ["LEASEFORGE_REDIS_URL"]) as client:
        client.enqueue("follow", id=payload["other"])


@task(name="isolated", isolate=True)
def isolated(ctx: Context, payload: Any) -> None:
    with tracer.start_as_current_span("work in a process"):
        ctx.enqueue("follow")


@task(name="follow")
async def follow(ctx: Context) -> None:
    pass


@task(name="unlucky")
async def unlucky(ctx: Context, payload: Any) -> None:
    """Fails until the file it is told of exists."""
    if not Path(payload["cured"]).exists():
        raise RuntimeError(f"card 4111111111111111 of 'ada@example.com' was refused, token={payload['secret']}")


@task(name="deadly")
async def deadly(ctx: Context) -> None:
    """Takes its worker down in the first attempt."""
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
