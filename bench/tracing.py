"""What traces cost a worker: `python -m bench.tracing [--jobs N] [--rounds N]`, beside the same worker without.

The spans go over HTTP to a collector in a process of its own, which throws them away.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import click

from bench.drains import WorkerDrain
from bench.measuring import Figures
from bench.server import bench_server

CASES = {
    "off": {},
    "on, nothing sampled": {"OTEL_TRACES_SAMPLER": "always_off"},
    "on, 1 in 100": {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01"},
    "on, everything": {"OTEL_TRACES_SAMPLER": "always_on"},
}


class Sink(BaseHTTPRequestHandler):
    """Takes whatever comes."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One batch of spans."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def a_sink() -> Iterator[str]:
    """A collector; its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.tracing", "--sink"], stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout is not None
            yield f"http://127.0.0.1:{child.stdout.readline().strip()}"
        finally:
            child.terminate()


@click.command()
@click.option("--jobs", default=20_000, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--sink", is_flag=True, hidden=True)
def main(jobs: int, rounds: int, sink: bool) -> None:
    """Drains so many jobs that do nothing, in each case, and prints medians."""
    if sink:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
        print(server.server_address[1], flush=True)
        server.serve_forever()
    measured: dict[str, list[Figures]] = {name: [] for name in CASES}
    with a_sink() as address, bench_server() as bench:
        for _ in range(rounds):
            for name, variables in CASES.items():
                given = {"OTEL_TRACING_ENABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": address, **variables}
                for variable in [one for one in os.environ if one.startswith("OTEL_")]:
                    del os.environ[variable]
                os.environ.update(given if variables else {})
                bench.raw.flushdb()
                measured[name].append(WorkerDrain()(bench, jobs))
    print(f"{'':<22}{'jobs/s':>8}{'worker us':>11}{'redis us':>10}{'commands':>10}")
    for name, figures in measured.items():
        middle = {key: statistics.median(one[key] for one in figures) for key in figures[0]}
        rate, worker, redis, commands = (middle[key] for key in ("per_second", "python_us", "redis_us", "commands"))
        print(f"{name:<22}{rate:>8,.0f}{worker:>11.1f}{redis:>10.1f}{commands:>10.2f}")


if __name__ == "__main__":
    main()
