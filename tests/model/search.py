"""Walks every state that two jobs and two workers can get into by the transition table, and judges each step.

A worker may crash, its lease may end, a reply may be lost, a zombie may come back with its old token, an
operator may act, at any moment. Names of workers and of jobs do not matter, so states that differ in them
alone are walked once.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.model.transition_table import ENDED, LIVE, SETTLING, TABLE, Effect, Event, Row, State, When

MAX_ATTEMPTS = 2
MAX_RECOVERIES = 2
OUTSIDE = frozenset({"fenced", "already_done", "conflict", "not_found", "duplicate", "paused"})
"""Answers that promise that nothing happened; an adopted claim alone has its lease renewed."""

WORKERS = ("w1", "w2")


class Job(NamedTuple):
    """One job. `holder` is the worker that lives and has the current token, '' without one.

    `heard`: the holder knows that it has the job (the reply was not lost). `settled`: a token that settled
    it is remembered. `accepted`: the current token has had a result accepted.
    """

    state: State = State.GONE
    places: tuple[State, ...] = ()
    failures: int = 0
    losses: int = 0
    stop: bool = False
    leased: bool = False
    holder: str = ""
    heard: bool = False
    settled: bool = False
    accepted: bool = False


class World(NamedTuple):
    """All jobs, and whether the queue is paused."""

    jobs: tuple[Job, ...]
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Explored:
    """What a search saw. `named` counts states with the names of jobs and workers told apart."""

    states: int
    named: int
    steps: int


class Violation(Exception):
    """A rule was broken; the message tells the way there."""


class Step(NamedTuple):
    """One thing that may happen. Fair ones happen in the end if they can for long enough."""

    name: str
    fair: bool
    world: World


class Search:
    """A breadth-first search over a table. Raises Violation with the shortest way to a broken rule."""

    def __init__(self, table: Iterable[Row] = TABLE, *, jobs: int = 2, cap: int | None = None) -> None:
        self._rows: dict[tuple[Event, State], list[Row]] = {}
        for row in table:
            self._rows.setdefault((row.event, row.source), []).append(row)
        self._start = World((Job(),) * jobs)
        self._cap = cap
        self._job_steps: dict[tuple[Job, bool], list[tuple[str, bool, Job]]] = {}
        self._ways: dict[World, tuple[World, str] | None] = {}
        self.used: set[Row] = set()

    def run(self) -> Explored:
        """Walks everything, then checks that every state has a fair way to one in which all jobs ended."""
        start = _canonical(self._start)
        self._ways = {start: None}
        fair: dict[World, list[World]] = {}
        todo = deque([start])
        steps = 0
        while todo:
            world = todo.popleft()
            try:
                for step in self._steps(world):
                    steps += 1
                    following = _canonical(step.world)
                    if step.fair:
                        fair.setdefault(following, []).append(world)
                    if following not in self._ways:
                        self._ways[following] = (world, step.name)
                        todo.append(following)
            except Violation as found:
                raise Violation(f"{found}\nafter: {self._way(world)}\nin: {world}") from None
        self._check_that_all_end(fair)
        return Explored(len(self._ways), sum(_size_of_orbit(world) for world in self._ways), steps)

    def _steps(self, world: World) -> Iterator[Step]:
        """Everything that may happen now and changes something."""
        running = sum(job.state is State.RUNNING for job in world.jobs)
        has_room = self._cap is None or running < self._cap
        for index, job in enumerate(world.jobs):
            for name, is_fair, following in self._steps_of(job, world.paused):
                yield Step(f"{name} job {index + 1}", is_fair, _with(world, index, following))
            for worker in WORKERS if has_room else ():
                # One exchange at a time: a worker that waits for an answer sends nothing else.
                if not any(other.holder == worker and not other.heard for other in world.jobs):
                    for heard in (True, False):
                        claimed = self._claim(job, worker, heard, world.paused)
                        if claimed != job:
                            name = f"{worker} claims job {index + 1}" + ("" if heard else ", reply lost")
                            yield Step(name, True, _with(world, index, claimed))
        for worker in WORKERS:
            # One claim may take several jobs, and lose the reply for all of them.
            both = tuple(self._claim(job, worker, False, world.paused) for job in world.jobs)
            free = all(job.holder != worker or job.heard for job in world.jobs)
            if (
                self._cap is None
                and free
                and sum(one != other for one, other in zip(both, world.jobs, strict=True)) > 1
            ):
                yield Step(f"{worker} claims all, reply lost", True, World(both, world.paused))
            crashed = tuple(job._replace(holder="", heard=False) if job.holder == worker else job for job in world.jobs)
            if crashed != world.jobs:
                yield Step(f"{worker} crashes", False, World(crashed, world.paused))
        yield Step("resume" if world.paused else "pause", world.paused, World(world.jobs, not world.paused))

    def _claim(self, job: Job, worker: str, heard: bool, paused: bool) -> Job:
        """The job after a claim that reached it, or as it is."""
        if job.state is not State.READY:
            return job
        claimed = self._apply(Event.CLAIM, job, {When.PAUSED if paused else When.OPEN})
        if claimed.state is not State.RUNNING:
            return job
        if paused:
            raise Violation("a claim of a paused queue succeeded")
        return claimed._replace(holder=worker, heard=heard)

    def _steps_of(self, job: Job, paused: bool) -> list[tuple[str, bool, Job]]:
        """What may happen to one job alone; judged once for each state of a job."""
        key = (job, paused)
        if key not in self._job_steps:
            found = [(name, is_fair, after) for name, is_fair, after in self._judged_steps(job) if after != job]
            self._job_steps[key] = found
        return self._job_steps[key]

    def _judged_steps(self, job: Job) -> Iterator[tuple[str, bool, Job]]:
        _judge(job)
        for event, facts, is_fair in _events(job):
            if (event, job.state) not in self._rows:
                continue
            after = self._apply(event, job, facts)
            yield _name(event, facts), is_fair, after
            if event in OPERATIONS and after != job:
                again = self._apply(event, after, (facts - {When.NEW_OPERATION}) | {When.SAME_OPERATION})
                if again != after:
                    raise Violation(f"{event} sent twice did something twice")
        if job.state is State.RUNNING:
            if job.leased:
                yield "lease ends:", True, job._replace(leased=False)
            if job.holder and not job.heard:
                yield "reply comes at last:", True, self._apply(Event.ADOPT, job, {When.CURRENT})._replace(heard=True)

    def _apply(self, event: Event, job: Job, facts: set[When] | frozenset[When]) -> Job:
        rows = [row for row in self._rows.get((event, job.state), ()) if row.when <= facts]
        if len(rows) != 1:
            found = "no row" if not rows else f"{len(rows)} rows"
            raise Violation(f"{found} for {event} of a job that is {job.state}, {', '.join(sorted(facts))}")
        [row] = rows
        self.used.add(row)
        after = _after(job, row)
        _judge_step(job, after, row, facts)
        return after

    def _check_that_all_end(self, fair: dict[World, list[World]]) -> None:
        """Backwards along fair steps from the states in which every job has ended."""
        ending = [world for world in self._ways if all(job.state in (*ENDED, State.GONE) for job in world.jobs)]
        reached, todo = set(ending), deque(ending)
        while todo:
            for before in fair.get(todo.popleft(), ()):
                if before not in reached:
                    reached.add(before)
                    todo.append(before)
        stuck = next((world for world in self._ways if world not in reached), None)
        if stuck is not None:
            raise Violation(f"a job never ends\nafter: {self._way(stuck)}\nin: {stuck}")

    def _way(self, world: World) -> str:
        names: list[str] = []
        way = self._ways.get(world)
        while way is not None:
            names.append(way[1])
            way = self._ways.get(way[0])
        return "; ".join(reversed(names)) or "nothing"


def _events(job: Job) -> Iterator[tuple[Event, frozenset[When], bool]]:
    """What can reach a job, with what is true of it then, and whether it is fair to expect it."""
    stop = When.STOP_WANTED if job.stop else When.NO_STOP
    budget = When.SPENT if job.failures + 1 >= MAX_ATTEMPTS else When.LEFT
    losses = job.losses + 1
    loss = When.FIRST_LOSS if losses == 1 else When.LATER_LOSS if losses <= MAX_RECOVERIES else When.LAST_LOSS
    tokens = [When.STALE]
    if job.holder and job.heard:
        tokens.append(When.CURRENT)
    if job.settled:
        tokens.append(When.SETTLED)
    for token in tokens:
        is_own = token is When.CURRENT
        for event in (Event.RENEW, Event.PROGRESS, Event.COMPLETE, Event.RELEASE, Event.STOP):
            yield event, frozenset({token, stop}), is_own and event is Event.COMPLETE
        yield Event.CRASH, frozenset({token, stop, loss}), False
        for failure in (When.PERMANENT, budget):
            yield Event.FAIL, frozenset({token, stop, failure}), is_own
    lease = When.LEASE_HELD if job.leased else When.LEASE_OVER
    yield Event.RECOVER, frozenset({lease, stop, loss}), True
    for time in (When.NOW, When.LATER):
        yield Event.ENQUEUE, frozenset({time}), False
        yield Event.PROMOTE, frozenset({time}), True
    for event in (*OPERATIONS, Event.DELETE, Event.PURGE, Event.PURGE_DEAD, Event.TRIM):
        yield event, frozenset({When.NEW_OPERATION}), False


OPERATIONS = (Event.PROMOTE_JOB, Event.CANCEL, Event.RETRY, Event.REQUEUE)
"""What operators do to one job, under an id that makes it happen once."""


def _name(event: Event, facts: frozenset[When]) -> str:
    token = next((word for fact, word in _ZOMBIES.items() if fact in facts), "")
    return f"{event}{token}"


_ZOMBIES = {When.STALE: " by a zombie", When.SETTLED: " sent again"}


def _after(job: Job, row: Row) -> Job:
    effects = row.effects
    places = [place for place in job.places if place != row.leaves]
    if row.enters is not None:
        places.append(row.enters)
    if row.target is State.GONE:
        return Job(places=tuple(places))
    job = job._replace(state=row.target, places=tuple(sorted(places)))
    if row.target is not State.RUNNING:
        job = job._replace(holder="", heard=False, leased=False)
    if Effect.NEW_TOKEN in effects:
        job = job._replace(accepted=False)
    if Effect.NEW_LEASE in effects:
        job = job._replace(leased=True)
    if Effect.SETTLE in effects:
        job = job._replace(settled=True, accepted=True)
    if Effect.FAILURE in effects:
        job = job._replace(failures=job.failures + 1)
    if Effect.LOSS in effects:
        job = job._replace(losses=job.losses + 1)
    if Effect.NEW_BUDGETS in effects:
        job = job._replace(failures=0, losses=0)
    if Effect.ASK_STOP in effects:
        job = job._replace(stop=True)
    if Effect.FORGET_STOP in effects:
        job = job._replace(stop=False)
    return job


def _judge(job: Job) -> None:
    """What must hold of a job in every state."""
    where = () if job.state is State.GONE else (job.state,)
    if job.places != where:
        raise Violation(f"a job that is {job.state} stands in {len(job.places)} places: {', '.join(job.places)}")
    if job.failures > MAX_ATTEMPTS or (job.failures == MAX_ATTEMPTS and job.state not in ENDED):
        raise Violation(f"a job that is {job.state} failed {job.failures} times of {MAX_ATTEMPTS}")
    if job.losses > MAX_RECOVERIES and (job.losses > MAX_RECOVERIES + 1 or job.state not in ENDED):
        raise Violation(f"a job that is {job.state} lost {job.losses} leases, {MAX_RECOVERIES} are allowed")
    if job.stop and job.state is not State.RUNNING:
        raise Violation(f"a job that is {job.state} is still asked to stop")


def _judge_step(before: Job, after: Job, row: Row, facts: set[When] | frozenset[When]) -> None:
    """What must hold of a step, whatever the table says."""
    event = row.event
    if row.answer in OUTSIDE and event is not Event.ADOPT and after != before:
        raise Violation(f"{event} answered {row.answer} and changed the job")
    if facts & {When.STALE, When.SETTLED} and after != before:
        raise Violation(f"{event} under a token that is not the job's changed it")
    leaves_running = before.state is State.RUNNING and after.state is not State.RUNNING
    if leaves_running and When.CURRENT not in facts and When.LEASE_OVER not in facts:
        raise Violation(f"{event} took a job from a worker whose lease holds")
    if event in SETTLING and after != before and before.accepted:
        raise Violation("a second result was accepted under one token")
    operator = event in (Event.RETRY, Event.REQUEUE, Event.DELETE, Event.PURGE_DEAD, Event.TRIM)
    if before.state in ENDED and after.state is not before.state and not operator:
        raise Violation(f"{event} changed a job that had ended as {before.state}")
    if before.state is State.GONE and after.state is not State.GONE and event is not Event.ENQUEUE:
        raise Violation(f"{event} brought back a job that is gone")
    if before.state in LIVE and after.state is State.GONE and event not in (Event.DELETE, Event.PURGE):
        raise Violation(f"{event} lost a job that had not ended")


def _with(world: World, index: int, job: Job) -> World:
    return World((*world.jobs[:index], job, *world.jobs[index + 1 :]), world.paused)


_OTHER = {"": "", "w1": "w2", "w2": "w1"}


def _swapped(job: Job) -> Job:
    return job._replace(holder=_OTHER[job.holder]) if job.holder else job


def _canonical(world: World) -> World:
    """One of the states that differ in names alone."""
    jobs = tuple(sorted(world.jobs))
    if not any(job.holder for job in jobs):
        return World(jobs, world.paused)
    return World(min(jobs, tuple(sorted(_swapped(job) for job in jobs))), world.paused)


def _size_of_orbit(world: World) -> int:
    swapped = [tuple(_swapped(job) for job in world.jobs), world.jobs]
    return len({order for jobs in swapped for order in (jobs, jobs[::-1])})


def explore(table: Sequence[Row] = TABLE, *, jobs: int = 2, cap: int | None = None) -> Explored:
    """Searches a table; see Search."""
    return Search(table, jobs=jobs, cap=cap).run()


Change = Callable[[Row], Row | None]


def changed(change: Change, table: Sequence[Row] = TABLE) -> tuple[Row, ...]:
    """A table with a fault planted: each row as it is, another, or (None) left out."""
    rows = tuple(new for row in table if (new := change(row)) is not None)
    assert rows != tuple(table), "the fault changed nothing"
    return rows
