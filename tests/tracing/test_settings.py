"""What switches tracing on, where spans go then, and what is refused at the start."""

import subprocess
import sys
from pathlib import Path

import pytest

from leaseforge.errors import SettingsError
from leaseforge.settings import read
from leaseforge.tracing_settings import TracingSettings
from leaseforge_api.settings import ServerSettings
from leaseforge_cli.exits import ExitCode
from leaseforge_worker.settings import WorkerSettings

ON = {"OTEL_TRACING_ENABLED": "true"}
BASE, TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("given", "is_on"),
    [
        ({}, False),
        (ON, False),
        ({BASE: "collector:4317"}, False),
        (ON | {BASE: "collector:4317"}, True),
        (ON | {TRACES: "http://collector:4318/v1/traces"}, True),
        (ON | {BASE: "collector:4317", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_it_takes_the_switch_and_an_endpoint(given: dict[str, str], is_on: bool) -> None:
    assert read(TracingSettings, given).is_on is is_on


@pytest.mark.parametrize(
    ("given", "uses_grpc", "where"),
    [
        ({BASE: "collector:4317"}, True, "collector:4317"),
        ({BASE: "[::1]:4317"}, True, "[::1]:4317"),
        ({BASE: "http://collector:4318"}, False, "http://collector:4318/v1/traces"),
        ({BASE: "https://collector/otlp/"}, False, "https://collector/otlp/v1/traces"),
        ({BASE: "ignored:1", TRACES: "http://collector:4318/as/it/is"}, False, "http://collector:4318/as/it/is"),
        ({BASE: "http://collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, True, "http://collector:4317"),
        (
            {BASE: "collector:4318", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
            False,
            "http://collector:4318/v1/traces",
        ),
    ],
)
def test_the_endpoints_form_decides_the_protocol(given: dict[str, str], uses_grpc: bool, where: str) -> None:
    settings = read(TracingSettings, ON | given)

    assert settings.uses_grpc is uses_grpc
    assert (settings.target if uses_grpc else settings.url) == where


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("OTEL_TRACING_ENABLED", "perhaps"),
        (BASE, "collector"),
        (BASE, "collector:99999"),
        (BASE, "ftp://collector:21"),
        (BASE, "http://"),
        (TRACES, "https://ada:hunter2@collector"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
        ("OTEL_TRACES_SAMPLER", "sometimes"),
        ("OTEL_TRACES_SAMPLER_ARG", "1.5"),
        ("OTEL_TRACES_SAMPLER_ARG", "nan"),
    ],
)
def test_what_is_wrong_is_told_by_servers_and_workers_at_their_start(name: str, text: str) -> None:
    given = ON | {name: text, "LEASEFORGE_WORKER_CONCURRENCY": "none", "LEASEFORGE_AUTH_SECRET": "short"}

    for component in (WorkerSettings, ServerSettings):
        with pytest.raises(SettingsError) as refused:
            component.read(given) if component is ServerSettings else read(component, given)
        told = [problem.field for problem in refused.value.problems]
        assert name in told
        assert len(told) > 1  # beside what else is wrong
        assert "hunter2" not in str(refused.value)


def test_without_the_packages_the_start_says_what_to_install() -> None:
    program = """
import sys
sys.meta_path.insert(0, type("Missing", (), {"find_spec": staticmethod(lambda name, *_: (_ for _ in ()).throw(
    ModuleNotFoundError(name, name=name)) if name.partition(".")[0] == "opentelemetry" else None)}))
from leaseforge_cli.main import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "worker", "--demo"],
        env={"PATH": "/usr/bin:/bin", "OTEL_TRACING_ENABLED": "true", BASE: "127.0.0.1:4317"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == ExitCode.SETTINGS, done.stderr
    assert "OTEL_TRACING_ENABLED: needs packages that are not installed: pip install 'leaseforge[otel]'" in done.stderr


def test_the_address_of_traces_needs_a_place_for_the_trace() -> None:
    secret = {"LEASEFORGE_AUTH_SECRET": "x" * 40}
    shown = ServerSettings.read(secret | {"LEASEFORGE_TRACE_URL": "https://t.example.com/trace/{trace_id}?x=1"})

    assert shown.http.trace_url == "https://t.example.com/trace/{trace_id}?x=1"
    for text in (
        "https://t.example.com/",
        "javascript:alert('{trace_id}')",
        "https://{trace_id}.example.com/",
        "/{trace_id}",
    ):
        with pytest.raises(SettingsError, match="LEASEFORGE_TRACE_URL"):
            ServerSettings.read(secret | {"LEASEFORGE_TRACE_URL": text})
