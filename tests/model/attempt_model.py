"""What producers and workers do to a queue, in plain Python: answers and what is left behind, without any Redis.

It knows nothing of scripts, keys or their order of writes. Times are logical ms on the grid; a script always
runs a little after its step began, which is what `_later_than` is about.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from math import ceil

from leaseforge.enqueueing import body_hash, job_words
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.fingerprints import fingerprint
from leaseforge.jobs import NewJob
from leaseforge.texts import cut
from tests.model.clockwork import DAY_MS
from tests.model.pictures import JobPicture
from tests.model.queue_state import LOG, QueueState

_ENDED_AS = {
    Outcome.FAIL: "failed",
    Outcome.CRASH: "crashed",
    Outcome.RELEASE: "released",
    Outcome.CANCELLED: "cancelled",
}
KEY_USED = "its idempotency key was used for another job"


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """What a claim hands out, as far as the model knows it."""

    id: str
    token: str
    type: str
    payload: bytes
    attempt: int
    failures: int
    recoveries: int
    replays: int
    priority: int
    created_at: int
    ready_at: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """The answer of an exchange; `wait_ms` is the longest it may be."""

    settled: tuple[str, ...]
    claimed: tuple[ClaimedJob, ...]
    status: str
    wait_ms: int | None
    more: bool


class AttemptModel(QueueState):
    """One queue, and what producers and workers do to it."""

    __slots__ = ()

    # what producers do

    def enqueue(self, jobs: Sequence[NewJob]) -> list[tuple[str, str]]:
        """Stores jobs one by one; per job the answer and the id that holds."""
        self.exists = True
        answers = [self._enqueue_one(job) for job in jobs]
        if any(answer == "created" and self.jobs[job_id].state == "ready" for answer, job_id in answers):
            self._wake()
        return answers

    def _enqueue_one(self, job: NewJob) -> tuple[str, str]:
        scope = sha256(f"{job.created_by or ''}\0{job.idempotency_key}".encode()).hexdigest()
        if job.id in self.jobs:
            return "duplicate", job.id
        if job.idempotency_key is not None and scope in self.idem:
            body, first, _ = self.idem[scope]
            return ("duplicate" if body == body_hash(job) else "refused"), first
        if job.unique_key is not None and (holder := self._holder(job.id, job.unique_key)):
            return "duplicate", holder
        now = self.now
        due = now + job.delay_ms if job.at is None else round(job.at.timestamp() * 1000) - self.clock.base_ms
        stored = JobPicture(
            type=job.type,
            state="scheduled",
            created_at=now,
            payload=job.payload,
            priority=job.priority,
            rev=1,
            size=len(job.payload) if len(job.payload) > 16_384 else 0,
            content_type=None if job.content_type == "application/json" else job.content_type,
            options=job.options.encode() or None,
            created_by=job.created_by,
        )
        self.jobs[job.id] = stored
        if due > now:
            stored.scheduled_at = due
            self.places[job.id] = due
        else:
            self._make_ready(stored)
        if job.unique_key is not None:
            stored.unique_key, stored.unique_ttl = job.unique_key, job.unique_ttl_ms
            self._take_unique(job.id, stored)
        if job.idempotency_key is not None:
            self.idem[scope] = (body_hash(job), job.id, now + DAY_MS)
        self._count("enqueued")
        return "created", job.id

    # what workers do

    def exchange(
        self,
        run_id: str,
        number: int,
        lease_ms: int,
        want: int,
        settlements: Sequence[Settlement],
        issued: Sequence[str],
    ) -> Exchange:
        """Settles, promotes, claims. `issued` are the tokens the server gave out, which no model can guess."""
        with self.one_wake_at_the_end():
            return self._exchange(run_id, number, lease_ms, want, settlements, issued)

    def _exchange(
        self,
        run_id: str,
        number: int,
        lease_ms: int,
        want: int,
        settlements: Sequence[Settlement],
        issued: Sequence[str],
    ) -> Exchange:
        settled = self.settle(settlements)
        # What this very call put off by nothing is due a little later than what was due when its step began.
        fresh = {one.id for one, answer in zip(settlements, settled, strict=True) if answer == "retrying"}
        self.promote(200, last=fresh)
        last = self.claims.get(run_id)
        if want and last is not None and last[0] >= number:
            # The very number again, or one of the past, for whose claim nobody waits any more.
            claimed = self._adopt(last[1] if last[0] == number else (), lease_ms)
            return Exchange(settled, claimed, "already_done", None, self.is_claimable())
        allowed = self._allowance()
        if self.paused:
            return Exchange(settled, (), "paused", None, False)
        bucket = self._saved_up()
        claimed = self._claim(run_id, number, lease_ms, self.ready()[: min(want, allowed)], issued)
        wait_ms = None
        if bucket is not None and self.ready() and bucket - len(claimed) < 1:
            wait_ms = max(1, ceil((1 - bucket + len(claimed)) * 1000 / Fraction(str(self.limits["rate"]))))
        status = "ok" if claimed else "empty"
        return Exchange(settled, claimed, status, wait_ms, self.is_claimable())

    def _claim(
        self, run_id: str, number: int, lease_ms: int, ids: Sequence[str], issued: Sequence[str]
    ) -> tuple[ClaimedJob, ...]:
        if not ids:
            return ()
        assert len(issued) == len(ids), f"{len(ids)} jobs can be claimed, the server gave {len(issued)}"
        bucket = self._saved_up()
        fences = [int(token.removesuffix(f".{run_id}")) for token in issued]
        assert fences[0] > self.fence, "a fencing integer of the past"
        assert fences == list(range(fences[0], fences[0] + len(fences)))
        now = self.now
        for job_id, token in zip(ids, issued, strict=True):
            job = self.jobs[job_id]
            job.state, job.token, job.worker, job.started_at = "running", token, run_id, now
            job.attempts += 1
            job.rev += 1
            self.places[job_id] = now + lease_ms
            self._count_type("wait", job.type)
        self.fence = fences[-1] + 1
        self.lease_ms = max(self.lease_ms, lease_ms)
        self.claims[run_id] = (number, tuple(zip(ids, issued, strict=True)), now + 2 * lease_ms)
        if bucket is not None:
            self.tokens, self.tokens_at = bucket - len(ids), now
        self._count("claimed", len(ids))
        return tuple(self._handed_out(job_id) for job_id in ids)

    def _adopt(self, pairs: Iterable[tuple[str, str]], lease_ms: int) -> tuple[ClaimedJob, ...]:
        mine = [job_id for job_id, token in pairs if self._runs_under(job_id, token)]
        for job_id in mine:
            self.places[job_id] = self.now + lease_ms
        return tuple(self._handed_out(job_id) for job_id in mine)

    def _handed_out(self, job_id: str) -> ClaimedJob:
        job = self.jobs[job_id]
        assert job.payload is not None
        assert job.ready_at is not None
        return ClaimedJob(
            job_id, job.token, job.type, job.payload, job.attempts, job.failures, job.recoveries, job.replays,
            job.priority, job.created_at, job.ready_at,
        )  # fmt: skip

    def promote(self, limit: int, *, last: Collection[str] = ()) -> int:
        """What is due becomes ready, the earliest first, of equal times `last` after the others, then by id."""
        due = sorted(
            (self.places[job_id], job_id in last, job_id)
            for job_id, job in self.jobs.items()
            if job.state in ("scheduled", "retrying") and self.places[job_id] <= self.now
        )[:limit]
        for _, _, job_id in due:
            del self.places[job_id]
            self._make_ready(self.jobs[job_id])
            self.jobs[job_id].rev += 1
        if due:
            self._count("promoted", len(due))
            self._wake()
        return len(due)

    def settle(self, settlements: Sequence[Settlement]) -> tuple[str, ...]:
        """Ends attempts: per settlement the state it led to, or fenced, or already_done."""
        before = {settlement.id: job.settled for settlement in settlements if (job := self.jobs.get(settlement.id))}
        answers = []
        follow_ups: list[tuple[str, NewJob]] = []
        for settlement in settlements:
            job = self.jobs.get(settlement.id)
            if job is not None and settlement.token and settlement.token in (job.settled, before[settlement.id]):
                answers.append("already_done")
            elif job is None or not self._runs_under(settlement.id, settlement.token):
                answers.append("fenced")
                self._count("fenced")
            else:
                answers.append(self._settle_one(job, settlement, follow_ups))
        if follow_ups:
            stored = self.enqueue([follow_up for _, follow_up in follow_ups])
            for (parent, follow_up), (answer, _) in zip(follow_ups, stored, strict=True):
                if answer == "refused":
                    self._note_refusal(parent, f"follow-up {follow_up.id} refused: {KEY_USED}")
        if set(answers) - {"fenced", "already_done"}:
            self._wake()
        return tuple(answers)

    def _settle_one(self, job: JobPicture, settlement: Settlement, follow_ups: list[tuple[str, NewJob]]) -> str:
        now = self.now
        is_failure = settlement.outcome is Outcome.FAIL
        stop = job.cancel_requested
        job.settled, job.cancel_requested = job.token, None
        job.rev += 1
        self._count_type("run", job.type)
        if is_failure:
            job.failures += 1
            job.error_kind, job.error = cut(settlement.error_kind, 60), cut(settlement.error_message, 60)
            self._count("failed")
            self._count_type("failed", job.type)
        spent = 0 < settlement.max_attempts <= job.failures
        if settlement.outcome is Outcome.COMPLETE:
            self._end(settlement.id, "completed")
            self._count_type("completed", job.type)
            job.result = settlement.result or job.result
            for follow_up in settlement.follow_ups:
                if follow_up.queue == self.name:
                    follow_ups.append((settlement.id, follow_up))
                else:
                    self._post(settlement.id, follow_up)
            return "completed"
        self._remember(job, settlement)
        if settlement.outcome is Outcome.CRASH:
            job.error_kind, job.error = cut(settlement.error_kind, 60), cut(settlement.error_message, 60)
            self._count("crashed")
            self._charge_crash(settlement.id, settlement.max_recoveries, settlement.delay_ms, stop=bool(stop))
        elif is_failure and (settlement.permanent or spent):
            kind = settlement.permanent or settlement.error_kind
            self._bury(
                settlement.id,
                settlement.permanent or "attempts_exhausted",
                *fingerprint(settlement.job_type, kind, settlement.error_message),
            )
            self._count_type("dead", job.type)
        elif stop or settlement.outcome is Outcome.CANCELLED:
            self._end(settlement.id, "cancelled")
        elif is_failure:
            job.state = "retrying"
            self.places[settlement.id] = now + settlement.delay_ms
            self._count("retried")
        else:
            job.releases += 1
            self._put_back(settlement.id, job)
            self._count("released")
        return job.state

    def _charge_crash(self, job_id: str, most: int, pause: int | None, *, stop: bool) -> None:
        """Charges a lost lease or a crash; without a pause the job is back in its old place."""
        job = self.jobs[job_id]
        job.recoveries += 1
        if stop:
            self._end(job_id, "cancelled")
        elif job.recoveries > most:
            self._bury(job_id, "poison", f"poison:{job.type}", f"{job.type}\npoison\n")
            self._count_type("dead", job.type)
        elif pause is None:
            self._put_back(job_id, job)
        else:
            job.state = "retrying"
            self.places[job_id] = self.now + pause

    def _post(self, parent: str, follow_up: NewJob) -> None:
        keyed = follow_up if follow_up.idempotency_key is not None else replace(follow_up, idempotency_key=follow_up.id)
        words = [word if isinstance(word, bytes) else str(word).encode() for word in job_words(keyed)]
        self.outbox[follow_up.id] = (parent.encode(), follow_up.queue.encode(), *words)

    def _remember(self, job: JobPicture, settlement: Settlement) -> None:
        failed = settlement.outcome in (Outcome.FAIL, Outcome.CRASH)
        outcome = _ENDED_AS[settlement.outcome] if not settlement.timed_out else "timeout"
        error = (settlement.error_kind, settlement.error_message, settlement.traceback) if failed else ("", "", "")
        self._add_history(job, outcome, job.token, error)

    def renew(self, lease_ms: int, held: Sequence[tuple[str, str]]) -> list[str]:
        """Renews leases: per lease ok, cancelled, already_done or fenced."""
        answers = []
        for job_id, token in held:
            job = self.jobs.get(job_id)
            if job is not None and self._runs_under(job_id, token):
                answers.append("cancelled" if job.cancel_requested else "ok")
                self.places[job_id] = self.now + lease_ms
                self.lease_ms = max(self.lease_ms, lease_ms)
            elif job is not None and token and job.settled == token:
                answers.append("already_done")
            else:
                answers.append("fenced")
                self._count("fenced")
        return answers

    def progress(self, job_id: str, token: str, words: str) -> str:
        """A running attempt says how far it is: ok, cancelled or fenced."""
        answer = self._heard(job_id, token)
        if answer != "fenced":
            self.jobs[job_id].progress = words
        return answer

    def log(self, job_id: str, token: str, first: int, lines: Sequence[str]) -> str:
        """A running attempt logs lines, each number once: ok, cancelled or fenced."""
        answer = self._heard(job_id, token)
        if answer != "fenced":
            job, fence = self.jobs[job_id], token.partition(".")[0]
            before, _, last = (job.logged or "").partition(":")
            reached = int(last) if before == fence else 0
            for number, line in enumerate(lines, first):
                if number > reached:
                    job.log.append((number, self.now, fence, line))
                    reached = number
            job.log = job.log[-LOG:]
            job.logged = f"{fence}:{reached}"
        return answer

    def _heard(self, job_id: str, token: str) -> str:
        if not self._runs_under(job_id, token):
            self._count("fenced")
            return "fenced"
        return "cancelled" if self.jobs[job_id].cancel_requested else "ok"

    # follow-ups on their way to other queues

    def forwarded(self, job_id: str, parent: str, refusal: str) -> None:
        """A follow-up leaves the outbox, to its own queue or refused for good."""
        if self.outbox.pop(job_id, None) is None:
            return
        if refusal:
            self._note_refusal(parent, refusal)
        else:
            self._count("forwarded")

    def _note_refusal(self, parent: str, refusal: str) -> None:
        self._count("follow_ups_refused")
        if parent in self.jobs:
            job = self.jobs[parent]
            job.log = [*job.log, (0, self.now, "", refusal)][-LOG:]
