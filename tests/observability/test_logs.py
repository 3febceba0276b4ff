"""What a log line looks like: one shape, for our own lines and those of libraries, without secrets and payloads."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from leaseforge import events, logs
from leaseforge.redaction import LEFT_OUT, redacted_text
from leaseforge.secret_names import MASK


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """What a test configures is taken back: the rest of the session has pytest's logging."""
    root = logging.getLogger()
    before, level, handlers = structlog.get_config(), root.level, list(root.handlers)
    yield
    structlog.configure(**before)
    root.setLevel(level)
    root.handlers[:] = handlers


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_line_is_one_json_object_with_time_level_logger_and_event(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info")

    structlog.get_logger().warning(events.JOB_FENCED, job_id="j1")

    [line] = lines(capsys)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "job_fenced", "level": "warning", "logger": __name__, "job_id": "j1"}


def test_lines_of_libraries_have_the_same_shape(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info")

    logging.getLogger("uvicorn.error").warning("Invalid HTTP request from %s", "a client")
    logging.getLogger("uvicorn.error").info("Started server process")
    logging.getLogger("mytasks").info("a task's own words")
    try:
        raise ValueError("redis://user:hunter2@host:6379/0 is away")
    except ValueError:
        logging.getLogger("mytasks").exception("it broke")

    first, second, third = lines(capsys)
    assert (first["event"], first["logger"], first["level"]) == (events.LIBRARY_LINE, "uvicorn.error", "warning")
    assert first["message"] == "Invalid HTTP request from a client"
    assert (second["logger"], second["message"]) == ("mytasks", "a task's own words")
    assert third["level"] == "error"
    assert "ValueError" in third["exception"]
    assert "hunter2" not in third["exception"]


def test_each_component_has_its_own_level(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("warning,worker=debug,uvicorn=info,mytasks.mail=info")

    for name in (
        "leaseforge_worker.pool",
        "leaseforge_api.edge",
        "uvicorn.error",
        "redis",
        "mytasks",
        "mytasks.mail.smtp",
    ):
        logging.getLogger(name).debug("a word")
        logging.getLogger(name).info("a word")

    heard = [(line["logger"], line["level"]) for line in lines(capsys)]
    assert heard == [
        ("leaseforge_worker.pool", "debug"),
        ("leaseforge_worker.pool", "info"),
        ("uvicorn.error", "info"),
        ("mytasks.mail.smtp", "info"),
    ]
    structlog.get_logger().info("ours, and not loud enough")
    structlog.get_logger().warning("ours")
    assert [line["event"] for line in lines(capsys)] == ["ours"]


@pytest.mark.parametrize(
    "text", ["", "loud", "info,", "worker=debug", "info,worker", "info,=debug", "info,worker=loud"]
)
def test_a_level_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be debug, info, warning, error"):
        logs.levels(text)


def test_a_level_is_taken_with_spaces_and_capitals() -> None:
    assert logs.levels(" INFO, worker = debug ".replace(" = ", "=")) == "info,worker=debug"
    assert logs.level_of("worker", "info,worker=debug") == logging.DEBUG
    assert logs.level_of("api", "info,worker=debug") == logging.INFO


def test_people_at_a_terminal_get_text(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", format="text")

    structlog.get_logger().info(events.SERVER_STARTED, address="127.0.0.1:8080", password="hunter2")

    text = capsys.readouterr().out
    assert "server_started" in text
    assert "address=127.0.0.1:8080" in text
    assert "hunter2" not in text
    assert not text.startswith("{")


def test_secrets_and_payloads_are_left_out_wherever_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info")

    structlog.get_logger().info(
        "canaries",
        password="canary",
        api_key="canary",
        headers={"Authorization": "canary", "Accept": "text/html"},
        deep=[{"a": [{"session_id": "canary"}]}],
        payload={"anything": "canary"},
        result="canary",
        raw=b"canary",
        error="cannot reach rediss://leaseforge:canary@redis:6379/0",
        said="Authorization: Bearer canary-canary",
        max_tokens=400,
        jobs=3,
    )

    [line] = lines(capsys)
    assert "canary" not in json.dumps({name: value for name, value in line.items() if name != "event"})
    assert line["password"] == line["api_key"] == MASK
    assert line["headers"] == {"Authorization": MASK, "Accept": "text/html"}
    assert line["payload"] == line["result"] == line["raw"] == LEFT_OUT
    assert line["error"] == f"cannot reach rediss://{MASK}@redis:6379/0"
    assert (line["max_tokens"], line["jobs"]) == (400, 3)


@pytest.mark.parametrize(
    "secret",
    [
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        "lf_0123456789abcdef_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ",
    ],
)
def test_tokens_are_known_by_their_look(secret: str) -> None:
    assert redacted_text(f"a request with {secret} in it") == f"a request with {MASK} in it"


@pytest.mark.parametrize(
    "text",
    [
        "BEARER abcdefgh1234",
        "Basic YWRhOmFkYTEyMzQ=",
        "ba\u017fic YWRhOmFkYTEyMzQ=",
        "REDIS://ada:secret@host",
        "LF_0123456789ABCDEF_abcdefghijklmnopqrstuvwxyz",
    ],
)
def test_secrets_in_a_text_are_found_in_any_case(text: str) -> None:
    assert MASK in redacted_text(text)


def test_what_is_no_secret_stays() -> None:
    text = "job 0190-af of queue mail: https://jobs.example.com/console/jobs?x=1 answered 503, see ada@example.com"

    assert redacted_text(text) == text


def test_a_traceback_steers_no_terminal_and_forges_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", format="text")
    told = "\x1b[2J\x9b31m\u202e\r"

    for logger in (structlog.get_logger(), logging.getLogger("mytasks")):
        try:
            raise ValueError(f"{told}\n09:00:00 [info] all is well")
        except ValueError:
            logger.exception("it broke")

    written = capsys.readouterr().out
    assert not set(told) - set("[2J31m") & set(written)
    assert written.count("ValueError: \\u001b[2J\\u009b31m\\u202e\\u000d\n  09:00:00 [info] all is well") == 2
    assert [line for line in written.split("\n") if line.startswith("09:00:00")] == []


def test_a_child_is_told_the_level_only_if_the_log_is_ours() -> None:
    logs.configure("info,worker=debug", format="json")
    ours = logs.standing()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))

    assert (ours, logs.standing()) == (("info,worker=debug", "json"), ("", ""))
