"""A queue with a million ready and a million dead jobs, swept, worked on, looked at and purged."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leaseforge import exchanges, operations, reads, statistics
from leaseforge.calls import Plan
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.filters import Filter
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.searching import search
from leaseforge.store import SyncStore
from leaseforge.workers import ReportedJob, WorkerReport, WorkerState
from tests.scale.loading import Loader
from tests.scale.watching import Watch, Watched

QUEUE = "scale"
LEASE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything. `page` is the page of 100 that is asked for far behind in a list."""

    ready: int = 1_000_000
    dead: int = 1_000_000
    expired: int = 10_000
    trimmed: int = 100_000
    workers: int = 1000
    queues: int = 100
    page: int = 10_000


SMALL = Size(ready=3000, dead=2000, expired=600, trimmed=500, workers=20, queues=5, page=15)


class Scenario:
    """Goes through everything once; `watch.rows` is what was measured, and counts are checked by the way."""

    def __init__(self, store: SyncStore, raw: Any, watch: Watch, size: Size) -> None:
        self.store = store
        self.raw = raw
        self.watch = watch
        self.size = size
        self.loader = Loader(raw, QUEUE)
        self.number = 0

    def run(self) -> list[Watched]:
        self.load()
        self.look()
        self.work()
        self.sweep()
        self.trim()
        self.roll_up()
        self.enqueue()
        self.purge()
        return self.watch.rows

    def count(self, state: JobState) -> int:
        return self.store.run(reads.queue(QUEUE)).counts[state]

    def exchange(self, want: int, settlements: list[Settlement]) -> exchanges.Exchanged:
        self.number += 1
        call = exchanges.exchange(
            QUEUE, run_id="w1", number=self.number, lease_ms=LEASE_MS, want=want, settlements=settlements
        )
        return self.store.run(call)

    def load(self) -> None:
        size = self.size
        with self.watch.during(f"load {size.ready:,} ready and {size.dead:,} dead"):
            self.store.run(operations.enqueue(new_job("first", queue=QUEUE)))
            self.loader.load("ready", size.ready)
            self.loader.load("dead", size.dead)
            self.store.run(operations.configure(QUEUE, {"dead_keep": 10_000_000}))
            self.loader.load_statistics()
            for number in range(size.queues):
                self.store.run(operations.enqueue(new_job("work", queue=f"q{number}")))
            for number in range(size.workers):
                self.store.run(exchanges.register_worker(_report(number)))
        memory = self.raw.info("memory")["used_memory"]
        print(f"  {memory / 2**20:,.0f} MiB, {memory / (size.ready + size.dead):.0f} bytes a job")
        assert (self.count(JobState.READY), self.count(JobState.DEAD)) == (size.ready + 1, size.dead)

    def look(self) -> None:
        """Every read an operator's page makes, first page and far behind."""
        far = (self.size.page - 1) * 100
        some_id = f"{1:08x}-0000-4000-8000-{self.size.dead // 2:012x}"
        group = self.store.run(reads.groups(QUEUE)).items[0]
        asks: dict[str, Callable[[], Plan[Any]]] = {
            "queue": lambda: reads.queue(QUEUE),
            f"all {self.size.queues + 1} queues": reads.queues,
            "queue names": reads.queue_names,
            "ready, page 1": lambda: reads.jobs(QUEUE, JobState.READY, limit=100),
            f"ready, page {self.size.page:,}": lambda: reads.jobs(QUEUE, JobState.READY, offset=far, limit=100),
            "dead, page 1": lambda: reads.jobs(QUEUE, JobState.DEAD, limit=100),
            f"dead, page {self.size.page:,}": lambda: reads.jobs(QUEUE, JobState.DEAD, offset=far, limit=100),
            "search of everything, page 1": lambda: search(Filter(), limit=100),
            "search that looks at 5,000 jobs in vain": lambda: search(Filter(type="none")),
            "dead groups (1,000), page 1": lambda: reads.groups(QUEUE),
            "a group, page 1": lambda: reads.group_jobs(QUEUE, group.key, limit=100),
            "one job by its id alone": lambda: reads.job(some_id),
            "its log": lambda: reads.log(QUEUE, some_id),
            f"workers ({self.size.workers:,}), page of 100": lambda: reads.workers(limit=100),
            f"workers, all {self.size.workers:,}": reads.all_workers,
            "throughput of the queue, 15 min": lambda: statistics.throughput(seconds=900, queue=QUEUE),
            "throughput of the queue, 2 h": lambda: statistics.throughput(
                seconds=7200, step=statistics.Step.TEN_SECONDS, queue=QUEUE
            ),
            "throughput of all, 24 h": lambda: statistics.throughput(seconds=86_400),
            "shapes of 100 types, 2 min": lambda: statistics.shapes(QUEUE, seconds=120),
        }
        for name, plan in asks.items():
            self._time(name, plan)

    def _time(self, name: str, plan: Callable[[], Plan[Any]]) -> None:
        self.watch.timed(name, lambda: self.store.run(plan()))

    def work(self) -> None:
        """Exchanges of two sizes: what is claimed is settled by the next one, in every way."""
        for want, rounds in ((16, 100), (200, 50)):
            with self.watch.during(f"{rounds} exchanges of {want}"):
                ended: list[Settlement] = []
                for _ in range(min(rounds, self.size.ready // 4 // want)):
                    claimed = self.exchange(want, ended).claimed
                    ended = [_settlement(job.id, job.token) for job in claimed]
                    self.exchange(0, ended)

    def sweep(self) -> None:
        size = self.size
        while self.raw.zcard(f"lf:{{{QUEUE}}}:running") < size.expired:
            self.exchange(200, [])
        expired = self.loader.expire_leases()
        assert expired == size.expired
        recovered = 0
        with self.watch.during(f"sweep of {expired:,} expired leases"):
            while True:
                ticked = self.store.run(exchanges.tick(QUEUE))
                recovered += ticked.recovered
                if not ticked.full:
                    break
        assert recovered == expired
        assert self.count(JobState.RUNNING) == 0

    def trim(self) -> None:
        left = self.count(JobState.DEAD) - self.size.trimmed
        self.store.run(operations.configure(QUEUE, {"dead_keep": left}))
        with self.watch.during(f"trim of {self.size.trimmed:,} dead jobs"):
            while self.store.run(exchanges.tick(QUEUE)).full:
                pass
        assert self.count(JobState.DEAD) == left

    def roll_up(self) -> None:
        """Full buckets of two hours, as after an outage of every worker."""
        self.loader.load_statistics()
        self.raw.hdel(f"lf:{{{QUEUE}}}:meta", "rolled")
        with self.watch.during("roll-up of 720 buckets with 100 types"):
            while self.store.run(statistics.roll_call(QUEUE)):
                pass
        self._time("shapes of 100 types, 15 min", lambda: statistics.shapes(QUEUE, seconds=900))
        self._time("shapes of 100 types, 1 h", lambda: statistics.shapes(QUEUE, seconds=3600))

    def enqueue(self) -> None:
        for count, rounds in ((100, 50), (1000, 20)):
            with self.watch.during(f"{rounds} bulks of {count:,}"):
                for bulk in range(rounds):
                    jobs = [
                        new_job(
                            "work",
                            b"x" * 100,
                            queue=QUEUE,
                            priority=random.randrange(4),
                            idempotency_key=f"{count}-{bulk}-{n}",
                        )
                        for n in range(count)
                    ]
                    self.store.run(operations.enqueue_many(jobs))

    def purge(self) -> None:
        shown = self.store.run(reads.queue(QUEUE))
        with self.watch.during(f"purge of {shown.counts[JobState.READY]:,} ready jobs"):
            purged = self.store.run(operations.purge(QUEUE, sequence=shown.sequence, as_of_ms=shown.as_of_ms))
        assert purged.removed == shown.counts[JobState.READY]
        assert self.count(JobState.READY) == 0


def _settlement(job_id: str, token: str) -> Settlement:
    outcome = random.choice((Outcome.COMPLETE, Outcome.COMPLETE, Outcome.FAIL, Outcome.RELEASE))
    return Settlement(
        job_id,
        token,
        outcome,
        result=b"r" * 100,
        error_kind="ValueError",
        error_message=f"user {random.randrange(1000)} not found",
        traceback="t" * 2000,
        delay_ms=3_600_000,
        max_attempts=random.choice((1, 3)),
        job_type="work",
    )


def _report(number: int) -> WorkerReport:
    running = tuple(
        ReportedJob(id=f"{slot:08x}-0000-4000-8000-{number:012x}", queue=QUEUE, type="work", fence=slot, started_ms=1)
        for slot in range(16)
    )
    return WorkerReport(
        id=f"host-{number}",
        host=f"host-{number}",
        pid=number,
        version="1",
        queues=(QUEUE,),
        types=("work",),
        slots=16,
        state=WorkerState.RUNNING,
        rss_bytes=1,
        started_ms=1,
        ttl_ms=3_600_000,
        running_count=16,
        running=running,
    )
