"""Off, tracing is not there: nothing is imported, and Redis hears the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import redis

from tests.support import OwnServer

ROOT = Path(__file__).parents[2]

# What redis-py loads of OpenTelemetry where it is installed is not ours.
IMPORTS = """
import json, sys
import redis, redis.asyncio, redis.cluster
before = {name for name in sys.modules if name.startswith(("opentelemetry", "grpc"))}
import leaseforge_cli.main, leaseforge_api.serve, leaseforge_worker.child, leaseforge_worker.run
print(json.dumps(sorted({name for name in sys.modules if name.startswith(("opentelemetry", "grpc"))} - before)))
"""

# A worker that runs 50 jobs one after the other, with one retry and one dead letter.
WORK = """
import asyncio, sys
from leaseforge import Registry, task
from leaseforge.requests import new_job
from leaseforge import operations, tracing
from leaseforge.settings import read
from leaseforge.store import connect
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.worker import Worker
import os

TRACE = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"
left = 52

@task
async def work(ctx, payload):
    global left
    left -= 1
    if not left:
        done.set()
    if payload:
        raise ValueError

async def main():
    global done
    done = asyncio.Event()
    settings = read(WorkerSettings, os.environ)
    recording = tracing.start(settings.tracing, "test")
    async with connect(settings.redis_url) as store:
        await store.run(operations.enqueue_many([new_job("work", traceparent=TRACE) for _ in range(50)]))
        await store.run(operations.enqueue(new_job("work", True, max_attempts=2, backoff="fixed", backoff_base_ms=1)))
        worker = Worker(settings, Registry([work]), recording=recording)
        running = asyncio.create_task(worker.run())
        await done.wait()
        worker.ask_to_stop()
        await running
    if recording:
        recording.end()
    print(len([name for name in sys.modules if name.startswith("opentelemetry.sdk.trace")]))

asyncio.run(main())
"""


def ran(program: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_our_packages_import_nothing_of_opentelemetry() -> None:
    assert json.loads(ran(IMPORTS)) == []


def test_a_worker_sends_the_same_commands_with_and_without(server: OwnServer) -> None:
    counted: list[dict[str, int]] = []
    modules: list[int] = []
    for env in ({}, {"OTEL_TRACING_ENABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}):
        url = server.clean_database()
        with redis.Redis.from_url(url) as raw:
            raw.config_resetstat()
            settings = {"LEASEFORGE_REDIS_URL": url, "LEASEFORGE_WORKER_CONCURRENCY": "1", "LEASEFORGE_BATCH_SIZE": "1"}
            modules.append(int(ran(WORK, LEASEFORGE_METRICS_ADDR="off", **settings, **env)))
            stats: Any = raw.info("commandstats")
        counted.append({name: entry["calls"] for name, entry in stats.items()})

    off, on = counted
    # What a job costs; ticks, renewals and waits depend on how long it took.
    for name in ("cmdstat_hset", "cmdstat_set", "cmdstat_hgetall", "cmdstat_mget", "cmdstat_rpush", "cmdstat_zrem"):
        assert abs(on[name] - off[name]) <= 0.1 * off[name] + 6, (name, off[name], on[name])
    assert modules[0] == 0
    assert modules[1] > 0
