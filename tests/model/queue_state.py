"""What a modelled queue holds, what it looks like, and the small steps its transitions are made of."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any, Protocol

from leaseforge.texts import cut
from tests.model.clockwork import GRID_MS
from tests.model.pictures import COARSE, ENDED, STATES, JobPicture, QueuePicture

LIVE_BUCKETS = 720
HISTORY = 20
LOG = 200


class Clock(Protocol):
    """The tests' clock: logical time, and what to add to it to have the server's."""

    now: int

    @property
    def base_ms(self) -> int: ...


@dataclass(slots=True)
class QueueState:
    """One queue. `limits` are its own; `idem` keeps (body, id, end), `claims` (number, ids and tokens, end)."""

    name: str
    clock: Clock
    jobs: dict[str, JobPicture] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    exists: bool = False
    paused: bool = False
    seq: int = 0
    fence: int = 0
    lease_ms: int = 0
    swept_at: int | None = None
    recover_from: int | None = None
    tokens: Fraction | None = None
    tokens_at: int = 0
    rolled: int | None = None
    wake: int = 0
    wakes_later: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    unique: dict[str, tuple[str, int]] = field(default_factory=dict)
    idem: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    claims: dict[str, tuple[int, tuple[tuple[str, str], ...], int]] = field(default_factory=dict)
    outbox: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    buckets: dict[int, dict[str, int]] = field(default_factory=dict)
    coarse: dict[str, int] = field(default_factory=dict)

    @property
    def now(self) -> int:
        """Logical time in ms."""
        return self.clock.now

    def time_passed(self) -> None:
        """Drops what has ended by itself."""
        for entries in (self.unique, self.idem, self.claims):
            for key in [key for key, entry in entries.items() if entry[-1] <= self.now]:
                del entries[key]
        for number in [number for number in self.buckets if number + LIVE_BUCKETS <= self.now // GRID_MS]:
            del self.buckets[number]

    def ready(self) -> list[str]:
        """The ids of ready jobs in claim order."""
        ready = [(-job.priority, job.seq, job_id) for job_id, job in self.jobs.items() if job.state == "ready"]
        return [job_id for _, _, job_id in sorted(ready)]

    def running(self) -> list[tuple[str, str]]:
        """The ids of running jobs with their tokens."""
        return [(job_id, job.token) for job_id, job in self.jobs.items() if job.state == "running"]

    def is_claimable(self) -> bool:
        """Whether a worker could claim something now."""
        return bool(self.ready()) and self._allowance() > 0

    def picture(self) -> QueuePicture:
        """All of it, as the server's keys must have it."""
        sets: dict[str, dict[str, int]] = {state: {} for state in STATES}
        groups: dict[str, tuple[str, dict[str, int]]] = {}
        for job_id, job in self.jobs.items():
            if job.state == "ready":
                sets["ready"][f"{job.seq:016d}{job_id}"] = -job.priority
            else:
                sets[job.state][job_id] = self.places[job_id]
            if job.fp is not None:
                groups.setdefault(job.fp, (self.titles[job.fp], {}))[1][job_id] = self.places[job_id]
        return QueuePicture(
            jobs=self.jobs,
            sets=sets,
            meta=self._meta(),
            counts=self.counts,
            types=self.types,
            groups=groups,
            unique=self.unique,
            idem={scope: (job_id, ends) for scope, (_, job_id, ends) in self.idem.items()},
            claims=self.claims,
            outbox=self.outbox,
            wake=self.wake,
            buckets=self.buckets,
            coarse=dict.fromkeys(COARSE, self.coarse),
        )

    def _meta(self) -> dict[str, str]:
        words: dict[str, Any] = {
            "paused": "1" if self.paused else None,
            "seq": self.seq if self.exists else None,
            "fence": self.fence or None,
            "lease_ms": self.lease_ms or None,
            "swept_at": self.swept_at,
            "recover_from": self.recover_from,
            "rolled": self.rolled,
            "tokens": None if self.tokens is None else float(self.tokens),
            "tokens_at": None if self.tokens is None else self.tokens_at,
            **{name: float(value) if name == "rate" else int(value) for name, value in self.limits.items()},
        }
        return {name: str(word) for name, word in words.items() if word is not None}

    # the pieces transitions are made of

    def _make_ready(self, job: JobPicture) -> None:
        self.seq += 1
        job.state, job.seq, job.ready_at = "ready", self.seq, self.now

    def _put_back(self, job_id: str, job: JobPicture) -> None:
        del self.places[job_id]
        job.state, job.ready_at = "ready", self.now

    def _end(self, job_id: str, state: str) -> None:
        job = self.jobs[job_id]
        job.state, job.finished_at = state, self.now
        self.places[job_id] = self.now
        self._free_unique(job_id, job)
        self._count(state)

    def _bury(self, job_id: str, reason: str, group: str, title: str) -> None:
        job = self.jobs[job_id]
        job.reason, job.fp = reason, group
        self.titles[group] = title
        self._end(job_id, "dead")

    def _forget(self, job_id: str) -> None:
        del self.jobs[job_id]
        self.places.pop(job_id, None)

    def _add_history(self, job: JobPicture, outcome: str, token: str, error: tuple[str, str, str]) -> None:
        kind, message, traceback = error
        entry = {
            "n": job.attempts, "o": outcome, "w": job.worker, "f": token.partition(".")[0], "s": job.started_at,
            "e": self.now, "k": cut(kind, 60), "m": cut(message, 1024), "t": traceback,
        }  # fmt: skip
        job.history = [*job.history, entry][-HISTORY:]

    def _runs_under(self, job_id: str, token: str) -> bool:
        job = self.jobs.get(job_id)
        return job is not None and job.state == "running" and job.token == token

    def _holder(self, job_id: str, key: str) -> str | None:
        holder, _ = self.unique.get(key, ("", 0))
        if holder and holder != job_id and holder in self.jobs and self.jobs[holder].state not in ENDED:
            return holder
        return None

    def _take_unique(self, job_id: str, job: JobPicture) -> None:
        assert job.unique_key is not None
        self.unique[job.unique_key] = (job_id, self.now + job.unique_ttl)

    def _free_unique(self, job_id: str, job: JobPicture) -> None:
        if job.unique_key is not None and self.unique.get(job.unique_key, ("", 0))[0] == job_id:
            del self.unique[job.unique_key]

    def _saved_up(self) -> Fraction | None:
        """What a rate allows now, None without one."""
        if "rate" not in self.limits:
            return None
        burst = Fraction(int(self.limits.get("burst", 1)))
        if self.tokens is None:
            return burst
        passed = max(0, self.now - self.tokens_at)
        return min(burst, self.tokens + passed * Fraction(str(self.limits["rate"])) / 1000)

    def _allowance(self) -> int:
        if self.paused:
            return 0
        allowed = 1_000_000
        if "max_running" in self.limits:
            allowed = int(self.limits["max_running"]) - len(self.running())
        if (bucket := self._saved_up()) is not None:
            allowed = min(allowed, floor(bucket))
        return max(0, allowed)

    def _wake(self) -> None:
        if self.is_claimable() and not self.wakes_later:
            self.wake = 1

    @contextmanager
    def one_wake_at_the_end(self) -> Iterator[None]:
        """Of several transitions in one call only the last state counts: whether there is something to claim then."""
        self.wakes_later = True
        yield
        self.wakes_later = False
        self._wake()

    def _later_than(self, at: float) -> bool:
        return self.now >= at

    def _count(self, name: str, amount: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + amount
        self._count_in_bucket(name, amount)

    def _count_type(self, name: str, job_type: str) -> None:
        self.types.setdefault(job_type, self.now)
        self._count_in_bucket(f"{name}:{job_type}", 1)

    def _count_in_bucket(self, name: str, amount: int) -> None:
        bucket = self.buckets.setdefault(self.now // GRID_MS, {})
        bucket[name] = bucket.get(name, 0) + amount
