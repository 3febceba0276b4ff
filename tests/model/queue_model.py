"""A queue as its documents have it, in plain Python: producers, workers, sweeps and operators, without any Redis."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.model.attempt_model import AttemptModel
from tests.model.clockwork import GRID_MS
from tests.model.pictures import ENDED
from tests.model.queue_state import LIVE_BUCKETS

ROLLED_AT_ONCE = 60


@dataclass(frozen=True, slots=True)
class Sweep:
    """The answer of a tick; `next_due_ms` is the longest it may be."""

    recovered: int
    dead: int
    promoted: int
    trimmed: int
    next_due_ms: int | None
    full: bool
    follow_ups: int


class QueueModel(AttemptModel):
    """One queue and all its transitions."""

    __slots__ = ()

    # what sweeps do

    def recover(self, limit: int, max_recoveries: int, base_ms: int, cap_ms: int) -> tuple[int, int, bool]:
        """Takes back lost leases: how many live on, how many died, whether the limit was reached."""
        if not self._may_recover():
            return 0, 0, False
        expired = sorted(
            (self.places[job_id], job_id)
            for job_id, job in self.jobs.items()
            if job.state == "running" and self.places[job_id] <= self.now
        )[:limit]
        recovered = dead = 0
        for _, job_id in expired:
            job = self.jobs[job_id]
            self._add_history(job, "lost", job.token, ("lease_lost", "the worker stopped renewing its lease", ""))
            stop = job.cancel_requested
            job.token, job.cancel_requested = "", None
            job.rev += 1
            pause = min(cap_ms, base_ms * 2 ** (job.recoveries - 1)) if job.recoveries else None
            self._charge_crash(job_id, max_recoveries, pause, stop=bool(stop))
            if job.state == "dead":
                dead += 1
            elif job.state != "cancelled":
                recovered += 1
                self._count("recovered")
        if expired:
            self._wake()
        return recovered, dead, len(expired) == limit

    def _may_recover(self) -> bool:
        """After a gap in sweeping live workers have a third of a lease to renew first; not again at once after it."""
        self.exists = True
        now, lease = self.now, self.lease_ms or 10_000
        grace = lease // 3
        if (
            self.swept_at is not None
            and self._later_than(self.swept_at + lease / 2)
            and not (self.recover_from is not None and now - (self.recover_from - grace) < max(lease, 5000))
        ):
            self.recover_from = (now + grace) // GRID_MS * GRID_MS
        self.swept_at = now
        return self.recover_from is None or now >= self.recover_from

    def trim(self, limit: int, age_ms: int, keep: int, dead_age_ms: int, dead_keep: int) -> tuple[int, bool]:
        """Ended jobs beyond their age or number go: how many, and whether the limit was reached."""
        left = limit
        for state in ("completed", "cancelled", "dead"):
            age, most = (dead_age_ms, dead_keep) if state == "dead" else (age_ms, keep)
            prefix = "dead_" if state == "dead" else ""
            age, most = int(self.limits.get(f"{prefix}keep_ms", age)), int(self.limits.get(f"{prefix}keep", most))
            ended = sorted((self.places[job_id], job_id) for job_id, job in self.jobs.items() if job.state == state)
            excess = min(left, len(ended) - most)
            after, amount = (60_000, excess) if excess > 0 else (age, left)
            for _, job_id in [pair for pair in ended if self._later_than(pair[0] + after)][:amount]:
                self._forget(job_id)
                self._count("trimmed")
                left -= 1
        return limit - left, left == 0

    def tick(self, limit: int, max_recoveries: int, base_ms: int, cap_ms: int, bounds: Sequence[int]) -> Sweep:
        """Recover, promote, trim, roll up; `bounds` are trim's."""
        recovered, dead, lost_full = self.recover(limit, max_recoveries, base_ms, cap_ms)
        promoted = self.promote(limit)
        trimmed, trim_full = self.trim(limit, *bounds)
        self.roll()
        self._wake()
        waits = [
            max(0, self.places[job_id] - self.now)
            for job_id, job in self.jobs.items()
            if job.state in ("scheduled", "retrying")
        ]
        full = lost_full or promoted == limit or trim_full
        return Sweep(recovered, dead, promoted, trimmed, min(waits, default=None), full, len(self.outbox))

    def roll(self) -> None:
        """Closed buckets are added to the coarse ones, each once; what is more than two hours old is gone."""
        running = self.now // GRID_MS
        oldest = running - LIVE_BUCKETS
        first = oldest if self.rolled is None else max(self.rolled, oldest)
        last = min(running, first + ROLLED_AT_ONCE)
        if last <= first:
            return
        live = self.buckets
        for number in range(first, last):
            for name, amount in live.get(number, {}).items():
                self.coarse[name] = self.coarse.get(name, 0) + amount
        self.rolled = last

    # what operators do

    def pause(self) -> str:
        """ok, already_done or not_found."""
        return self._switch(paused=True)

    def resume(self) -> str:
        """ok, already_done or not_found."""
        answer = self._switch(paused=False)
        self._wake()
        return answer

    def _switch(self, *, paused: bool) -> str:
        if not self.exists:
            return "not_found"
        answer = "already_done" if self.paused == paused else "ok"
        self.paused = paused
        return answer

    def configure(self, changes: dict[str, float | None]) -> str:
        """Sets limits, None clears one: ok or not_found."""
        if not self.exists:
            return "not_found"
        for name, value in changes.items():
            if value is None:
                self.limits.pop(name, None)
            else:
                self.limits[name] = value
        if {"rate", "burst"} & changes.keys():
            self.tokens, self.tokens_at = None, 0
        self._wake()
        return "ok"

    def cancel(self, job_id: str, operation: str) -> tuple[str, str]:
        """ok, already_done, not_found or conflict, and the state."""
        job = self.jobs.get(job_id)
        if job is None:
            return "not_found", ""
        if job.last_op == operation:
            return "already_done", job.state
        if job.state in ENDED:
            return "conflict", job.state
        job.last_op = operation
        job.rev += 1
        if job.state == "running":
            job.cancel_requested = "1"
        else:
            self._end(job_id, "cancelled")
        return "ok", job.state

    def promote_job(self, job_id: str, operation: str) -> tuple[str, str]:
        """ok, already_done, not_found or conflict, and the state."""
        job = self.jobs.get(job_id)
        if job is None:
            return "not_found", ""
        if job.last_op == operation:
            return "already_done", job.state
        if job.state not in ("scheduled", "retrying"):
            return "conflict", job.state
        del self.places[job_id]
        job.last_op = operation
        job.rev += 1
        self._make_ready(job)
        self._count("promoted")
        self._wake()
        return "ok", "ready"

    def replay(
        self, job_id: str, operation: str, *, allowed: Iterable[str], payload: bytes | None = None
    ) -> tuple[str, str]:
        """Retry and requeue. On a conflict the state, or the id of the live job that holds the unique key."""
        job = self.jobs.get(job_id)
        if job is None:
            return "not_found", ""
        if job.last_op == operation:
            return "already_done", job.state
        if job.state not in allowed:
            return "conflict", job.state
        if job.unique_key is not None and (holder := self._holder(job_id, job.unique_key)):
            return "conflict", holder
        del self.places[job_id]
        job.failures = job.recoveries = 0
        job.error = job.error_kind = job.reason = job.fp = job.progress = None
        job.finished_at = job.result = None
        job.attempts_base = job.attempts
        job.replays += 1
        job.rev += 1
        job.last_op = operation
        if payload is not None:
            job.payload = payload
            job.size = len(payload) if len(payload) > 16_384 else 0
        self._make_ready(job)
        if job.unique_key is not None:
            self._take_unique(job_id, job)
        self._count("replayed")
        self._wake()
        return "ok", "ready"

    def delete(self, job_id: str) -> tuple[str, str]:
        """ok, not_found or conflict, and the state."""
        job = self.jobs.get(job_id)
        if job is None:
            return "not_found", ""
        if job.state == "running":
            return "conflict", "running"
        self._free_unique(job_id, job)
        self._forget(job_id)
        self._count("deleted")
        return "ok", job.state

    def purge(self, sequence: int, as_of: int) -> int:
        """Removes the ready jobs that were there when an operator looked."""
        doomed = [job_id for job_id in self.ready() if self.jobs[job_id].seq <= sequence]
        doomed = [job_id for job_id in doomed if (self.jobs[job_id].ready_at or 0) <= as_of]
        for job_id in doomed:
            self._free_unique(job_id, self.jobs[job_id])
            self._forget(job_id)
            self._count("purged")
        return len(doomed)
