"""How soon a job starts on an idle worker, and what an idle worker asks for."""

import contextlib
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles
from urllib.parse import urlsplit

from bench.filling import account
from bench.measuring import Figures, Meter, cpu_s, until
from bench.processes import BareSpec, bare_loops, workers
from bench.server import QUEUE, Bench
from bench.workload import Workload
from leaseforge import Client, JobState
from leaseforge.limits import CHUNK

PER_SECOND = 50
IDLE_S = 10.0


@dataclass(frozen=True, slots=True)
class WorkerWakeUp:
    """A worker process that gets 50 jobs/s: from the call of `Client.enqueue` to the handler's first line."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Sends so many."""
        with Client(bench.url) as client, workers(bench) as children:
            meter = Meter(bench, children.pids)
            sent = _send(client, jobs)
            until(lambda: bench.ended(JobState.COMPLETED), jobs, what="jobs are completed", check=children.check)
            figures = meter.stop(jobs)
            results = [client.job(job_id).result for job_id in sent]
        account(bench, jobs)
        return figures | _percentiles([int(result or b"") for result in results])


@dataclass(frozen=True, slots=True)
class BareWakeUp:
    """A bare loop that waits on the wake token and then claims: to the moment the job is in hand."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Sends so many."""
        spec = BareSpec(bench.url, CHUNK, expects=jobs)
        with Client(bench.url) as client, bare_loops(bench, spec) as children:
            children.go()
            meter = Meter(bench, children.pids)
            _send(client, jobs)
            [taken] = children.reports()
            figures = meter.stop(jobs)
        account(bench, jobs)
        return figures | _percentiles(taken)


@dataclass(frozen=True, slots=True)
class IdleWorker:
    """A worker process with one queue and nothing to do: what it sends the server, and the CPU time of both."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Watches for a while: `jobs` is what 50 a second would send in that time, 10 s at most."""
        seconds = min(IDLE_S, jobs / PER_SECOND)
        with workers(bench) as children:
            before = sum(map(cpu_s, children.pids))
            server = bench.raw.info("cpu")
            sent = _requests(bench.url, seconds)
            after = bench.raw.info("cpu")
            used = sum(map(cpu_s, children.pids)) - before
            children.check()
        redis_s = sum(float(after[name]) - float(server[name]) for name in ("used_cpu_user", "used_cpu_sys"))
        return {
            "seconds": seconds,
            "requests_per_second": sent / seconds,
            "python_ms_per_second": used / seconds * 1e3,
            "redis_ms_per_second": redis_s / seconds * 1e3,
        }


def _send(client: Client, jobs: int) -> list[str]:
    """Enqueues at an even pace; the ids."""
    ids = []
    start = time.perf_counter()
    for number in range(jobs):
        time.sleep(max(0.0, start + number / PER_SECOND - time.perf_counter()))
        ids.append(client.enqueue("timed", {"sent_ns": time.monotonic_ns()}, queue=QUEUE).id)
    return ids


def _percentiles(nanoseconds: Sequence[int]) -> Figures:
    cuts = quantiles(nanoseconds, n=100, method="inclusive")
    return {"p50_ms": cuts[49] / 1e6, "p99_ms": cuts[98] / 1e6, "max_ms": max(nanoseconds) / 1e6}


def _requests(url: str, seconds: float) -> int:
    """How many commands clients send within so many seconds, as MONITOR tells them; those of scripts do not count."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=5.0) as monitor:
        monitor.sendall(b"MONITOR\r\n")
        if not monitor.recv(5).startswith(b"+OK"):
            raise OSError("MONITOR was refused")
        time.sleep(seconds)
        monitor.setblocking(False)
        heard = b""
        with contextlib.suppress(BlockingIOError):
            while part := monitor.recv(1 << 20):
                heard += part
    return sum(b" lua] " not in line for line in heard.splitlines() if line.startswith(b"+"))


# 500 jobs of the default 50,000: ten seconds. Fewer than 100 would have no 99th percentile to speak of.
LATENCY = (
    Workload("wake-up at 50 jobs/s", WorkerWakeUp(), BareWakeUp(), share=0.01, least=25),
    # The slowest of its loops comes round in 3.3 s: a shorter look may see nothing.
    Workload("idle", IdleWorker(), None, share=0.01, least=4 * PER_SECOND),
)
