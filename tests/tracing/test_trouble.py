"""A collector that is gone, deaf or slow costs spans: no job waits for it, and no process stays for it."""

import json
import signal
import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from opentelemetry import trace

from leaseforge import Client
from leaseforge.jobs import JobState
from leaseforge.tracing_sdk import Recording
from leaseforge.tracing_settings import TracingSettings
from tests.support import OwnServer, Process, eventually_sync, free_port
from tests.tracing.conftest import LEASEFORGE, ROOT, SOON, TASKS

JOBS = 300


def _is_done(client: Client, job_id: str) -> bool:
    return client.job(job_id).state is JobState.COMPLETED


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "http://127.0.0.1:{}"])
def test_a_deaf_collector_delays_neither_jobs_nor_the_end(
    form: str, deaf: int, server: OwnServer, tmp_path: Path
) -> None:
    url = server.clean_database()
    settings = {
        "LEASEFORGE_REDIS_URL": url,
        "OTEL_TRACING_ENABLED": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": form.format(deaf),
        "OTEL_BSP_MAX_QUEUE_SIZE": "64",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "32",
        **SOON,
    }
    argv = ["nice", *LEASEFORGE, "worker", TASKS, "--metrics-addr=off"]
    with Client(url) as client, Process(argv, output_file=tmp_path / "log", env=settings, cwd=ROOT) as worker:
        worker.wait_for_output("worker_started", within_s=90)
        ids = [client.enqueue("follow").id for _ in range(JOBS)]
        eventually_sync(partial(_is_done, client, ids[-1]), within_s=30)
        worker.signal(signal.SIGTERM)
        assert worker.wait(within_s=20) == 0
        lines = [json.loads(line) for line in worker.output().splitlines() if line.startswith("{")]

    stopped = next(line for line in lines if line["event"] == "worker_stopped")
    assert stopped["abandoned"] == 0
    # More spans than the queue holds: that is said, and said once.
    assert sum(line["event"] == "tracing_trouble" for line in lines) == 1


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "http://127.0.0.1:{}"])
def test_the_end_of_a_process_does_not_wait_until_the_collector_is_given_up(
    form: str, deaf: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "set_tracer_provider", lambda provider: None)  # the other tests have no traces
    recording = Recording(TracingSettings(enabled=True, endpoint=form.format(deaf), timeout_s=5.0), "test")
    recording.tracer.start_span("left").end()

    recording.end()

    ending = [thread for thread in threading.enumerate() if thread.name == "tracing-end"]
    assert len(ending) == 1, "it still tries: nobody waited for it"
    ending[0].join(30)


def test_nobody_listens_and_all_goes_on(server: OwnServer, tmp_path: Path) -> None:
    """The port is closed: refused at once, by both protocols."""
    url = server.clean_database()
    for number, form in enumerate(("127.0.0.1:{}", "http://127.0.0.1:{}")):
        settings = {
            "LEASEFORGE_REDIS_URL": url,
            "OTEL_TRACING_ENABLED": "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": form.format(free_port()),
            **SOON,
        }
        argv = ["nice", *LEASEFORGE, "worker", TASKS, "--metrics-addr=off"]
        log = tmp_path / f"{number}.log"
        with Client(url) as client, Process(argv, output_file=log, env=settings, cwd=ROOT) as worker:
            worker.wait_for_output("worker_started", within_s=90)
            job_id = client.enqueue("follow").id
            eventually_sync(partial(_is_done, client, job_id), within_s=30)
            worker.wait_for_output("tracing_trouble", within_s=30)
            worker.signal(signal.SIGTERM)
            assert worker.wait(within_s=20) == 0
