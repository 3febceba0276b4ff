"""The System page: what runs, on which Redis, and what is not right with it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from leaseforge.keys import LAYOUT_VERSION, queue_key
from leaseforge.store.server import ServerReport, SlowCall
from leaseforge_console.filters import percent, plural, span
from leaseforge_console.views.snapshot import Snapshot

_MEMORY_HIGH = 0.8
_CLOCK_OFF_MS = 1000
_MOST_SLOW = 20
_MOST_FOREIGN = 50


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not right. `subject` is the server it is about, '' with only one; `tone` is "bad" or "warn"."""

    tone: str
    lead: str
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Server:
    """One Redis server. `share` is the part of its memory in use, None without a limit; `clock` is in words."""

    report: ServerReport
    share: float | None
    clock: str
    uptime_s: int


@dataclass(frozen=True, slots=True)
class SlowScript:
    """The slow calls of one script or command that the server still remembers, on one server."""

    what: str
    server: str
    times: int
    longest_ms: float
    latest: datetime


@dataclass(frozen=True, slots=True)
class Foreign:
    """Keys of a queue, or of none (''), that hold something of another type, by whole name."""

    queue: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class System:
    """The page. `slow_told` is whether any server could be asked for slow calls."""

    version: str
    python: str
    environment: str
    layout: int
    findings: tuple[Finding, ...]
    servers: tuple[Server, ...]
    slow: tuple[SlowScript, ...]
    slow_told: bool
    foreign: tuple[Foreign, ...]
    foreign_more: int


def build(
    reports: Sequence[ServerReport], snapshot: Snapshot, *, version: str, python: str, environment: str
) -> System:
    """From what each server told."""
    foreign = [Foreign("", snapshot.foreign_keys)] if snapshot.foreign_keys else []
    foreign += [
        Foreign(queue.name, tuple(queue_key(queue.name, key) for key in queue.foreign_keys))
        for queue in snapshot.queues
        if queue.foreign_keys
    ]
    return System(
        version=version,
        python=python,
        environment=environment,
        layout=LAYOUT_VERSION,
        findings=tuple(
            finding for report in reports for finding in _findings(report, report.address if len(reports) > 1 else "")
        ),
        servers=tuple(_server(report) for report in reports),
        slow=_slow(reports),
        slow_told=any(report.slow is not None for report in reports),
        foreign=tuple(foreign[:_MOST_FOREIGN]),
        foreign_more=max(len(foreign) - _MOST_FOREIGN, 0),
    )


def _server(report: ServerReport) -> Server:
    return Server(report, _share(report), _clock(report.clock_ahead_ms), report.uptime_s)


def _share(report: ServerReport) -> float | None:
    memory = report.memory
    return memory.used / memory.limit if memory and memory.limit else None


def _clock(ahead_ms: float | None) -> str:
    if ahead_ms is None:
        return "not told"
    if abs(ahead_ms) < 1:
        return "the same as this server's"
    return f"{span(abs(ahead_ms) / 1000)} {'ahead of' if ahead_ms > 0 else 'behind'} this server's"


def _findings(report: ServerReport, subject: str) -> Iterator[Finding]:
    """The worst first."""
    kept, memory, share = report.persistence, report.memory, _share(report)
    if kept and not kept.append_ok:
        yield Finding("bad", "Redis cannot write its append-only file:", subject, "what it accepts now may be lost.")
    if memory and memory.policy not in ("noeviction", "unknown"):
        text = f"maxmemory-policy is {memory.policy}, it must be noeviction."
        yield Finding("bad", "Redis may evict jobs:", subject, text)
    if memory and memory.evicted:
        text = f"{plural(memory.evicted, 'key')} gone since it started: jobs may be among them."
        yield Finding("bad", "Redis has evicted keys:", subject, text)
    if kept and not kept.append_only:
        text = "jobs accepted since the last snapshot are lost if Redis restarts. Set appendonly to yes."
        yield Finding("warn", "No append-only file:", subject, text)
    if kept and not kept.snapshot_ok:
        yield Finding("warn", "The last snapshot failed:", subject, "its log says why; the disk may be full.")
    if share is not None and share >= _MEMORY_HIGH:
        text = f"{percent(share)} is in use; when it is full no new job is taken in."
        yield Finding("bad" if share >= 0.95 else "warn", "Memory runs out:", subject, text)
    if report.rejected:
        text = f"{plural(report.rejected, 'connection')} since it started: raise maxclients, or find who opens so many."
        yield Finding("warn", "Redis has turned away connections:", subject, text)
    if report.clock_ahead_ms is not None and abs(report.clock_ahead_ms) >= _CLOCK_OFF_MS:
        text = (
            f"that of Redis is {_clock(report.clock_ahead_ms)}. Leases go by that of Redis alone; "
            "times of day that producers send are off by as much."
        )
        yield Finding("warn", "Clocks differ:", subject, text)


def _slow(reports: Sequence[ServerReport]) -> tuple[SlowScript, ...]:
    found: defaultdict[tuple[str, str], list[SlowCall]] = defaultdict(list)
    for report in reports:
        for call in report.slow or ():
            found[call.what, report.address].append(call)
    rows = [
        SlowScript(
            what,
            address if len(reports) > 1 else "",
            len(calls),
            max(call.took_ms for call in calls),
            max(call.at for call in calls),
        )
        for (what, address), calls in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.longest_ms)[:_MOST_SLOW])
