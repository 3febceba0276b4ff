"""An open loop: every job has its moment, whatever became of the ones before, and is late if no sender is free then."""

import itertools
import math
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from leaseforge_cli.client import ApiClient, Refused, Unreachable
from leaseforge_cli.exits import CommandFailed
from leaseforge_cli.loadgen_mix import Mix
from leaseforge_cli.logins import Door

SAMPLE = 5
HELD_WITHIN = 0.02
PATIENCE_S = 10.0
"""How long an interrupted run waits for the answers still to come."""
# Latencies are kept as counts of classes this much apart, so that a long run takes no more memory than a short one.
_STEP = math.log(1.02)


@dataclass(slots=True)
class Tally:
    """What came of the jobs so far. Latencies count from the moment a job was due, being late included."""

    began: float
    rate: float
    sent: int = 0
    last_sent: float = 0.0
    accepted: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    first_error: str = ""
    sample: list[str] = field(default_factory=list)
    max_s: float = 0.0
    _classes: Counter[int] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, now: float) -> None:
        """Counts a job that is sent now."""
        with self._lock:
            self.sent += 1
            self.last_sent = max(self.last_sent, now)

    def accept(self, kind: str, job_id: str, latency_s: float) -> None:
        """Counts a job that was stored."""
        with self._lock:
            self.accepted[kind] += 1
            self.max_s = max(self.max_s, latency_s)
            self._classes[math.ceil(math.log(max(latency_s, 1e-5)) / _STEP)] += 1
            if len(self.sample) < SAMPLE:
                self.sample.append(job_id)

    def repeat(self) -> None:
        """Counts a request that was sent once more, because no answer came or the server was not available."""
        with self._lock:
            self.repeated += 1

    def fail(self, kind: str, message: str) -> None:
        """Counts a job that was refused, or of which nothing was heard."""
        with self._lock:
            self.errors[kind] += 1
            self.first_error = self.first_error or message

    def achieved(self) -> float:
        """Jobs sent a second. Late ones stretch the time, those that never went are missing."""
        took = self.last_sent - self.began + 1 / self.rate
        return self.sent / took if self.sent else 0.0

    def percentile(self, share: float) -> float:
        """The latency (seconds, exact to 2 %) that this share of the stored jobs did not exceed."""
        with self._lock:
            left = math.ceil(share * sum(self._classes.values()))
            for number, count in sorted(self._classes.items()):
                left -= count
                if left <= 0:
                    return min(math.exp(number * _STEP), self.max_s)
        return 0.0


@dataclass(frozen=True, slots=True)
class Load:
    """How many jobs a second for how long, and how many requests may be under way at a time."""

    rate: float
    duration_s: float
    concurrency: int

    @property
    def jobs(self) -> int:
        """How many jobs that makes."""
        return max(1, round(self.rate * self.duration_s))


class Run:
    """Sends the load from threads with a connection each.

    A request of which nothing was heard is sent up to `tries` times with one idempotency key: its job exists once.
    """

    def __init__(self, load: Load, mix: Mix, door: Door, *, seed: int | None = None, tries: int = 1) -> None:
        self._tries = tries
        self._senders: list[threading.Thread] = []
        self._load = load
        self._mix = mix
        self._door = door
        self._stopping = threading.Event()
        self._source = random.Random(seed)
        self._numbers = itertools.count()
        self._defects: list[BaseException] = []
        self.tally = Tally(time.monotonic(), load.rate)

    def carry_out(self) -> Iterator[Tally]:
        """The tally about ten times a second until all is done. Leaving it early stops the senders (see `stop`).

        Raises CommandFailed if the token does not count.
        """
        with ApiClient.at(self._door) as client:
            client.get("auth/me")
        self.tally.began = time.monotonic()
        # Daemons: a sender that hangs in a connection must not keep the process.
        self._senders = [threading.Thread(target=self._send_all, daemon=True) for _ in range(self._load.concurrency)]
        for sender in self._senders:
            sender.start()
        try:
            while any(sender.is_alive() for sender in self._senders):
                # Not `join`: a thread whose join Ctrl-C interrupts counts as ended from then on.
                time.sleep(0.05)
                yield self.tally
        finally:
            self._stopping.set()
        if self._defects:
            raise self._defects[0]

    def stop(self, *, within_s: float = PATIENCE_S) -> None:
        """Sends no further job and waits until those under way are answered: the tally then has them all."""
        self._stopping.set()
        until = time.monotonic() + within_s
        for sender in self._senders:
            sender.join(max(0.0, until - time.monotonic()))

    def _send_all(self) -> None:
        try:
            door, tries = self._door, self._tries
            with ApiClient(door.url, door.token, tries=tries, on_repeat=self.tally.repeat) as client:
                while (number := next(self._numbers)) < self._load.jobs:
                    due = self.tally.began + number / self._load.rate
                    if self._stopping.wait(max(0.0, due - time.monotonic())):
                        return
                    self._send_one(client, number, due)
        except BaseException as defect:
            self._defects.append(defect)
            self._stopping.set()

    def _send_one(self, client: ApiClient, number: int, due: float) -> None:
        kind, request = self._mix.pick(number, self._source)
        self.tally.send(time.monotonic())
        try:
            job = client.send("POST", "jobs", body=request, key=str(uuid.uuid4())).json()
        except Refused as refused:
            self.tally.fail(f"{refused.status} {refused.kind}", str(refused))
        except Unreachable as error:
            self.tally.fail("no answer", str(error))
        except CommandFailed as error:
            self.tally.fail("other", str(error))
        else:
            self.tally.accept(kind, str(job["id"]), time.monotonic() - due)
