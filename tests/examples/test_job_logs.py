"""The middleware example: lines name the job they belong to, whatever the handler says."""

from pathlib import Path

import structlog
from structlog.testing import LogCapture

from examples.job_logs import greet, job_lines
from leaseforge.testing import run_task
from leaseforge_worker.loader import load_tasks

JOB = "00000000-0000-4000-8000-000000000001"


def captured(name: str) -> list[dict[str, object]]:
    """The lines of one attempt, with what stood in structlog's context."""
    capture = LogCapture()
    before = structlog.get_config()
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, capture], cache_logger_on_first_use=False)
    try:
        run_task(greet, name, id=JOB, attempt=2, middleware=[job_lines])
    finally:
        structlog.configure(**before)
    return [dict(line) for line in capture.entries]


def test_a_handlers_lines_name_its_job() -> None:
    [line] = captured("Ada")

    assert (line["event"], line["job_id"], line["type"], line["attempt"]) == ("greeting", JOB, "greet", 2)
    assert structlog.contextvars.get_contextvars() == {}


def test_a_failure_gets_a_line() -> None:
    [line] = captured("")

    assert (line["event"], line["kind"], line["job_id"]) == ("handler_failed", "ValueError", JOB)


def test_it_surrounds_every_task_of_the_worker() -> None:
    registry = load_tasks(["examples.fan_out", "examples.job_logs"], folder=Path(__file__).parents[2])

    assert {registry.around(name) for name in registry.names()} == {(job_lines,)}
