"""A program with OpenTelemetry of its own: its jobs go on in the span that is current when they are enqueued."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

PROGRAM = """
import asyncio, json, os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from leaseforge import AsyncClient, Client, new_job

url, other = os.environ["LEASEFORGE_REDIS_URL"], "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
kept = {}
with Client(url) as client:
    before = client.enqueue("before")
    kept["before"] = client.job(before.id).traceparent
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    with trace.get_tracer("mine").start_as_current_span("mine"):
        kept["plain"] = client.job(client.enqueue("plain").id).traceparent
        kept["given"] = client.job(client.enqueue("given", traceparent=other).id).traceparent
        many = client.enqueue_many([new_job("a"), new_job("b", traceparent=other)])
        kept["many"] = [client.job(one.id).traceparent for one in many]
        again = client.enqueue("again", idempotency_key="k"), client.enqueue("again", idempotency_key="k")

        async def awaited():
            async with AsyncClient(url) as remote:
                return (await remote.enqueue("awaited")).id

        kept["awaited"] = client.job(asyncio.run(awaited())).traceparent
        try:
            client.enqueue("refused", idempotency_key="k")
        except Exception as error:
            kept["error"] = type(error).__name__
spans = [
    {
        "name": span.name,
        "trace": f"{span.context.trace_id:032x}",
        "id": f"{span.context.span_id:016x}",
        "parent": f"{span.parent.span_id:016x}" if span.parent else None,
        "links": [f"{link.context.trace_id:032x}" for link in span.links],
        "attributes": dict(span.attributes),
    }
    for span in exporter.get_finished_spans()
]
print(json.dumps({"kept": kept, "spans": spans, "first": again[0].id}))
"""


def carried(span: dict[str, Any]) -> str:
    return f"00-{span['trace']}-{span['id']}-01"


def test_jobs_go_on_in_the_programs_own_span(redis_url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"LEASEFORGE_REDIS_URL": redis_url},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    kept, spans = told["kept"], told["spans"]
    [mine] = [span for span in spans if span["name"] == "mine"]
    plain, given, many, first, again, awaited, refused = (span for span in spans if span["name"] == "task.enqueue")

    assert kept["before"] is None
    for span, job in ((plain, kept["plain"]), (awaited, kept["awaited"])):
        assert (span["trace"], span["parent"], carried(span)) == (mine["trace"], mine["id"], job)
    assert (given["trace"], given["parent"], carried(given)) == ("a" * 32, "b" * 16, kept["given"])
    assert kept["many"] == [carried(many), "00-" + "a" * 32 + "-" + "b" * 16 + "-01"]
    assert (many["parent"], many["links"]) == (mine["id"], ["a" * 32])
    assert many["attributes"]["messaging.batch.message_count"] == 2
    assert (first["attributes"]["leaseforge.answer"], again["attributes"]["leaseforge.answer"]) == (
        "created",
        "duplicate",
    )
    assert again["attributes"]["leaseforge.first_id"] == told["first"]
    assert (kept["error"], refused["attributes"]["leaseforge.answer"]) == ("IdempotencyConflict", "refused")
