"""A bulk retry of 100,000 dead jobs while workers and requests use the same queue, and while its server is killed.

Twice: first under the eyes of clients whose waits are compared with those before it, then with `kill -9` of the server
that carries it out, halfway. Afterwards every job is looked at: acted on once, and nothing that came later touched.
"""

import itertools
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from leaseforge.scripts import ENGINE
from leaseforge_auth.calls import SCRIPTS
from tests.scale.populating import Population
from tests.scale.stage import Caller, Server, Stage
from tests.scale.watching import share
from tests.support.processes import Process

SLOW_US = 20_000
CLIENTS = 8
EVERY_S = 0.1
"""A client's pause between two requests."""
LATE = 200
_DONE_WITHIN_S = 900.0


@dataclass(frozen=True, slots=True)
class Size:
    """`jobs` are retried in each of the two rounds; `waiting` ones keep the workers busy all the time."""

    jobs: int = 100_000
    waiting: int = 80_000
    before_s: float = 20.0
    rate: int = 10_000

    def population(self) -> Population:
        """One queue: twice the jobs dead, the others ready."""
        total = 2 * self.jobs + self.waiting
        shares = {"dead": 2 * self.jobs / total, "ready": self.waiting / total}
        return Population(total, queues=1, workers=0, running=0, shares=shares)


SMALL = Size(jobs=600, waiting=300, before_s=1.0, rate=2000)


@dataclass(slots=True)
class Stretch:
    """What clients met for a while: their waits in ms, and the server's commands over 20 ms."""

    name: str
    seconds: float = 0.0
    requests: int = 0
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    longest: float = 0.0
    slow: int = 0
    longest_command: float = 0.0
    slowest: str = ""
    done: int = 0
    load: float = 0.0

    def row(self) -> str:
        """As the table shows it."""
        return (
            f"{self.name:34} {self.seconds:7.1f} {self.requests:8} {self.p50:8.1f} {self.p95:8.1f} {self.p99:8.1f} "
            f"{self.longest:8.1f} {self.slow:5} {self.longest_command:8.1f}  {self.slowest:20} {self.done:8} "
            f"{self.load:5.1f}"
        )


HEADING = (
    f"{'ms':34} {'seconds':>7} {'requests':>8} {'p50':>8} {'p95':>8} {'p99':>8} {'longest':>8} {'>20':>5} "
    f"{'longest':>8}  {'command':20} {'done':>8} {'load':>5}"
)


@dataclass(slots=True)
class _Crowd:
    """Clients with a connection each that use the queue at a steady pace."""

    server: Server
    queue: str
    took: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    enough: threading.Event = field(default_factory=threading.Event)

    def use(self, number: int) -> None:
        some = f"{1:08x}-0000-4000-8000-{7:012x}"
        job = {"type": "type-1", "queue": self.queue, "payload": {"to": "ada@example.com"}}
        requests: Sequence[tuple[str, str, Any]] = (
            ("POST", "/api/jobs", job),
            ("GET", f"/api/queues/{self.queue}", None),
            ("POST", "/api/jobs", job),
            ("GET", f"/api/jobs?queue={self.queue}&state=dead&limit=20", None),
            ("POST", "/api/jobs", job),
            ("GET", f"/api/jobs/{some}", None),
        )
        with self.server.login() as caller:
            due = time.perf_counter() + number * EVERY_S / CLIENTS
            for request in itertools.islice(itertools.cycle(requests), number, None):
                if self.enough.wait(max(0.0, due - time.perf_counter())):
                    return
                try:
                    caller.ask(*request)
                except Exception as error:
                    self.failed.append(repr(error))
                    return
                # From the moment it was due: whoever waits for one answer is late with the next request.
                self.took.append((time.perf_counter() - due) * 1000)
                due = max(due + EVERY_S, time.perf_counter() - 1.0)


@contextmanager
def _watched(stage: Stage, server: Server | None, queue: str, name: str, rows: list[Stretch]) -> Iterator[Stretch]:
    """Clients that use the queue meanwhile, and the slow log."""
    stage.raw.config_set("slowlog-log-slower-than", 1000)
    stage.raw.config_set("slowlog-max-len", 100_000)
    seen = Stretch(name)
    crowd = _Crowd(server, queue) if server is not None else None
    if server is not None:
        server.login().close()
    threads = [threading.Thread(target=crowd.use, args=(number,)) for number in range(CLIENTS)] if crowd else []
    for thread in threads:
        thread.start()
    stage.raw.slowlog_reset()
    started = time.monotonic()
    yield seen
    seen.seconds = time.monotonic() - started
    if crowd is not None:
        crowd.enough.set()
        for thread in threads:
            thread.join()
        if crowd.failed:
            raise AssertionError(f"a request failed: {crowd.failed[0]}")
        took = crowd.took or [0.0]
        seen.requests, seen.longest = len(crowd.took), max(took)
        seen.p50, seen.p95, seen.p99 = (share(took, part) for part in (0.5, 0.95, 0.99))
    commands = [(entry["duration"], entry["command"]) for entry in stage.raw.slowlog_get(100_000)]
    seen.slow = sum(duration >= SLOW_US for duration, _ in commands)
    longest, command = max(commands, default=(0, b""))
    seen.longest_command, seen.slowest = longest / 1000, _script_of(command)
    seen.load = os.getloadavg()[0]
    rows.append(seen)
    print(seen.row(), flush=True)


def _script_of(command: bytes) -> str:
    """What a slow command was, by the script's name where it is one of ours."""
    words = command.decode("utf-8", "replace").split(" ")
    names = {library.load(name).sha: name for library in (ENGINE, SCRIPTS) for name in library.names()}
    return names.get(words[1], words[0]) if len(words) > 1 else words[0]


def measure(stage: Stage, size: Size) -> list[Stretch]:
    """Both rounds; raises AssertionError if a job was acted on twice, or one that it was not about."""
    [queue] = size.population().names()
    until = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    rows: list[Stretch] = []
    server = stage.start_server()
    workers = [_start_worker(stage, queue, number) for number in range(2)]
    print(HEADING, flush=True)
    try:
        with _watched(stage, server, queue, "before", rows):
            time.sleep(size.before_s)
        with server.login() as caller:
            with _watched(stage, server, queue, "counting", rows) as seen:
                first = _ask(caller, size, queue, until, 1)
                seen.done = _await(caller, first, "ready")["counts"]["total"]
            assert seen.done == size.jobs, f"{seen.done} jobs were found instead of {size.jobs}"
            late = _make_late(stage, caller, queue)
            with _watched(stage, server, queue, "retrying", rows) as seen:
                caller.ask("POST", f"/api/bulk/{first}/run", {})
                seen.done = _await(caller, first, "done")["counts"]["done"]
            assert seen.done == size.jobs, f"{seen.done} jobs were retried instead of {size.jobs}"
            _check(stage, queue, _ids(size, 1), late)
        with _watched(stage, server, queue, "after", rows):
            time.sleep(size.before_s / 2)
        _round_with_a_kill(stage, server, size, queue, until, late, rows)
    finally:
        for worker in workers:
            worker.end()
    return rows


def _round_with_a_kill(
    stage: Stage, server: Server, size: Size, queue: str, until: str, late: list[str], rows: list[Stretch]
) -> None:
    with server.login() as caller:
        second = _ask(caller, size, queue, until, 2)
        _await(caller, second, "ready")
        with _watched(stage, None, queue, "retrying, its server killed", rows) as seen:
            caller.ask("POST", f"/api/bulk/{second}/run", {})
            _await(caller, second, done=size.jobs // 3)
            server.process.signal(signal.SIGKILL)
            server.process.wait()
            with stage.start_server().login() as next_caller:
                counts = _await(next_caller, second, "done")["counts"]
            seen.done = counts["done"]
    assert counts["total"] == size.jobs, counts
    assert counts["done"] == size.jobs, counts
    _check(stage, queue, _ids(size, 2), late)


def _ask(caller: Caller, size: Size, queue: str, until: str, number: int) -> str:
    """Asks for one half of the dead jobs, told apart by when they were created."""
    middle = caller.ask("GET", f"/api/jobs/{_ids(size, 2)[0]}")["created_at"]
    wanted: dict[str, Any] = {"queue": queue, "state": "dead"}
    wanted |= {"created_until": middle} if number == 1 else {"created_since": middle, "created_until": until}
    body = {"action": "retry", "filter": wanted, "reason": "measured", "rate_per_second": size.rate}
    return str(caller.ask("POST", "/api/bulk", body)["id"])


def _ids(size: Size, half: int) -> list[str]:
    """The jobs of one half, as they were filled in."""
    first = 1 if half == 1 else size.jobs + 1
    return [f"{1:08x}-0000-4000-8000-{number:012x}" for number in range(first, first + size.jobs)]


def _await(caller: Caller, operation: str, state: str | None = None, *, done: int | None = None) -> Any:
    deadline = time.monotonic() + _DONE_WITHIN_S
    while True:
        shown = caller.ask("GET", f"/api/bulk/{operation}")
        if shown["state"] == state or (done is not None and shown["counts"]["done"] >= done):
            return shown
        if time.monotonic() > deadline or shown["state"] in ("failed", "stopped", "aborted", "done"):
            raise AssertionError(f"the operation is {shown['state']}, {shown['counts']}: {shown['error']}")
        time.sleep(0.1)


def _make_late(stage: Stage, caller: Caller, queue: str) -> list[str]:
    """Jobs that die after the operation was asked for; they would match it."""
    job = {"type": "breaks", "queue": queue, "priority": 100, "max_attempts": 1}
    ids: list[str] = caller.ask("POST", "/api/jobs/bulk", {"jobs": [job] * LATE})["ids"]
    deadline = time.monotonic() + 60
    while any(state != b"dead" for state in _read(stage, queue, ids, "state")):
        if time.monotonic() > deadline:
            raise AssertionError("the late jobs did not die")
        time.sleep(0.1)
    return ids


def _check(stage: Stage, queue: str, ids: list[str], late: list[str]) -> None:
    """Every job of the operation ran once more by its doing, and no late one did."""
    replays = Counter(_read(stage, queue, ids, "replays"))
    assert replays == {b"1": len(ids)}, replays
    states = Counter(_read(stage, queue, late, "state")), Counter(_read(stage, queue, late, "replays"))
    assert states == ({b"dead": len(late)}, {None: len(late)}), states


def _read(stage: Stage, queue: str, ids: list[str], name: str) -> list[bytes | None]:
    found: list[bytes | None] = []
    for start in range(0, len(ids), 1000):
        pipeline = stage.raw.pipeline(transaction=False)
        for job_id in ids[start : start + 1000]:
            pipeline.hget(f"lf:{{{queue}}}:job:{job_id}", name)
        found += pipeline.execute()
    return found


def _start_worker(stage: Stage, queue: str, number: int) -> Process:
    environment: dict[str, str | None] = {name: None for name in os.environ if name.startswith("LEASEFORGE_")}
    environment |= {"LEASEFORGE_REDIS_URL": stage.url, "LEASEFORGE_METRICS_ADDR": "off"}
    command = [sys.executable, "-m", "leaseforge_cli", "worker", "tests.scale.tasks:registry", "--queues", queue]
    worker = Process(command, output_file=stage.folder / f"worker-{number}.log", env=environment)
    worker.wait_for_output("worker_started", within_s=90)
    return worker
