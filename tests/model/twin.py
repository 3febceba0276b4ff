"""Does each action of an example to both sides, the engine on a real server and its model."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from leaseforge import exchanges, operations, reads
from leaseforge.errors import QueueNotFound
from leaseforge.jobs import JobState
from leaseforge.keys import queue_key
from tests.model import actions, queue_model
from tests.model.actions import APT, LEASES_MS, LINE, Action
from tests.model.clockwork import GRID_MS, LostStep
from tests.model.pictures import ENDED
from tests.model.script_calls import script_call
from tests.model.twin_base import MAX_RECOVERIES, check_wait, picked
from tests.model.twin_work import WorkTwin

BACKOFF = (GRID_MS, 3 * GRID_MS)


class Twin(WorkTwin):
    """All actions; sweeps, operators and mishaps are here."""

    def act(self, action: Action) -> None:
        """Does one action to both sides. Nothing more, once this machine stood still in a step."""
        if self._given_up:
            return
        try:
            self._do(action)
        except (LostStep, AssertionError):
            if not self._clock.is_lost:
                raise
            self.lost += 1
            self._given_up = True

    def _do(self, action: Action) -> None:
        if self._full_for:
            self._full_for -= 1
            self._raw.config_set("maxmemory", 1 if self._full_for else 0)
        match action:
            case actions.Enqueue():
                jobs = [self._request(action.queue, order) for order in action.orders]
                self._enqueue(action.queue, jobs, action.times)
            case actions.EnqueueAgain():
                self._enqueue_again(action)
            case actions.Exchange():
                if action.woken:
                    self._take_wake_token(action.queue)
                run_id = f"{action.worker}-{self._incarnations[action.worker]}"
                settlements = [one for ending in action.endings if (one := self._settlement(action.queue, ending))]
                number = len(self._sent) + 1
                self._exchange((action.queue, run_id, number), action.lease_ms, action.want, settlements, action.times)
            case actions.OldExchange():
                # Mostly one whose claim is remembered: what it took may be in other hands by now.
                kept = [sent for sent in self._sent if self._models[sent[0]].claims.get(sent[1], (0,))[0] == sent[2]]
                if pool := kept if action.pick % 4 and kept else self._sent:
                    self._exchange(picked(pool, action.pick), action.lease_ms, action.want, (), 1)
            case actions.Beat():
                self._beat(action)
            case actions.Sweep():
                self._sweep(action)
            case actions.PassTime():
                self._pass_time(action)
            case actions.Operate():
                self._operate(action)
            case actions.Switch():
                self._switch(action)
            case actions.Look():
                self._look_at(action.queue, action.state)
            case actions.Purge():
                self._purge(action)
            case actions.Forward():
                self._forward(action)
            case actions.Mishap():
                self._mishap(action)

    # sweeps and time

    def _sweep(self, action: actions.Sweep) -> None:
        queue, limit, model = action.queue, action.limit, self._models[action.queue]
        self._clock.ready()
        match action.kind:
            case "tick":
                self._tick(queue, limit)
            case "promote":
                assert self._store.run(script_call("promote", queue, limit)) == model.promote(limit)
            case "recover" if model.lease_ms:
                base_ms = action.number * GRID_MS
                lost = self._store.run(script_call("recover", queue, limit, MAX_RECOVERIES, base_ms, 2 * GRID_MS, 0))
                expected = model.recover(limit, MAX_RECOVERIES, base_ms, 2 * GRID_MS)
                assert (lost[0], lost[1], bool(lost[2])) == expected
            case "trim":
                bounds = (300_000, action.number, 600_000, action.number)
                removed, full = self._store.run(script_call("trim", queue, limit, *bounds))
                assert (removed, bool(full)) == model.trim(limit, *bounds)
        self._compare()

    def _tick(self, queue: str, limit: int) -> None:
        """One tick. Of a queue that never had a lease the sweep's pause would be off the grid: left alone."""
        if not self._models[queue].lease_ms:
            return
        self._clock.ready()
        call = exchanges.tick(
            queue,
            max_recoveries=MAX_RECOVERIES,
            backoff_base_ms=BACKOFF[0],
            backoff_cap_ms=BACKOFF[1],
            spread=0,
            limit=limit,
        )
        reply = self._store.run(call)
        bounds = [int(value) for name, value in call.args if name in ("age_ms", "keep", "dead_age_ms", "dead_keep")]
        expected = self._models[queue].tick(limit, MAX_RECOVERIES, *BACKOFF, bounds)
        answered = queue_model.Sweep(
            reply.recovered,
            reply.dead,
            reply.promoted,
            reply.trimmed,
            reply.next_due_ms,
            reply.full,
            reply.follow_ups,
        )
        assert replace(answered, next_due_ms=None) == replace(expected, next_due_ms=None)
        check_wait(answered.next_due_ms, expected.next_due_ms)
        self._compare()

    def _pass_time(self, action: actions.PassTime) -> None:
        pace = 2 if action.swept else action.steps
        for _ in range(0, action.steps, pace):
            self._clock_went_back |= pace < 0
            self._clock.advance(pace * GRID_MS)
            for model in self._models.values():
                model.time_passed()
                if pace < 0 and model.fence:
                    model.fence -= 1000 * pace * GRID_MS
            self._compare()
            for queue in self._models if action.swept else ():
                self._tick(queue, 200)
            if action.lost_claims:
                self._exchange((LINE, "lost", len(self._sent) + 1), LEASES_MS[0], 3, (), 1)

    # operators

    def _operate(self, action: actions.Operate) -> None:
        if not self._requests:
            return
        job_id, model = self._any_job(action.pick, APT[action.kind] if action.apt else frozenset())
        self._operations += 0 if action.repeats else 1
        operation = f"operation-{self._operations}"
        for _ in range(action.times):
            self._clock.ready()
            match action.kind:
                case "retry":
                    plan = operations.retry(job_id, operation=operation, payload=action.payload)
                    expected = model.replay(job_id, operation, allowed=("dead",), payload=action.payload)
                case "requeue":
                    plan = operations.requeue(job_id, operation=operation)
                    expected = model.replay(job_id, operation, allowed=ENDED)
                case "cancel":
                    plan = operations.cancel(job_id, operation=operation)
                    expected = model.cancel(job_id, operation)
                case "promote":
                    plan = operations.promote(job_id, operation=operation)
                    expected = model.promote_job(job_id, operation)
                case "delete":
                    plan = operations.delete(job_id)
                    expected = model.delete(job_id)
            # A conflict says what stands in the way; any other answer of a plan is one word.
            assert self._told(plan) == (expected if expected[0] == "conflict" else (expected[0], ""))
            self._compare()

    def _switch(self, action: actions.Switch) -> None:
        queue, model = action.queue, self._models[action.queue]
        changes = dict(action.changes)
        both: Mapping[str, tuple[Callable[[], Any], Callable[[], str]]] = {
            "pause": (lambda: operations.pause(queue), model.pause),
            "resume": (lambda: operations.resume(queue), model.resume),
            "configure": (lambda: operations.configure(queue, changes), lambda: model.configure(changes)),
        }
        plan, expected = both[action.kind]
        for _ in range(action.times):
            self._clock.ready()
            assert self._told(plan()) == (expected(), "")
            self._compare()

    def _look_at(self, queue: str, state: JobState) -> bool:
        """What operators are shown is what there is."""
        model = self._models[queue]
        self._clock.ready()
        try:
            info = self._store.run(reads.queue(queue))
        except QueueNotFound:
            assert not model.exists
            return False
        sizes = {name: len(members) for name, members in model.picture().sets.items()}
        assert (info.paused, dict(info.counts), info.sequence) == (model.paused, sizes, model.seq)
        assert {name: total for name, total in info.totals.items() if total} == model.counts
        self._shown.append((queue, info.sequence, self._logical(info.as_of_ms)))
        page = self._store.run(reads.jobs(queue, state))
        in_state = [job_id for job_id, job in model.jobs.items() if job.state == state]
        in_state.sort(key=lambda job_id: (model.places.get(job_id, 0), job_id), reverse=state in ENDED)
        ids = model.ready() if state is JobState.READY else in_state
        assert [(job.id, job.rev) for job in page.items] == [(job_id, model.jobs[job_id].rev) for job_id in ids]
        groups = {group.key: group.size for group in self._store.run(reads.groups(queue)).items}
        assert groups == {key: len(members) for key, (_, members) in model.picture().groups.items()}
        return True

    def _purge(self, action: actions.Purge) -> None:
        if not self._look_at(action.queue, JobState.READY):
            return
        queue, sequence, as_of = picked(self._shown, action.pick)
        for _ in range(action.times):
            self._clock.ready()
            plan = operations.purge(queue, sequence=sequence, as_of_ms=as_of + self._clock.base_ms)
            assert self._store.run(plan).removed == self._models[queue].purge(sequence, as_of)
            self._compare()

    # what goes wrong

    def _mishap(self, action: actions.Mishap) -> None:
        match action.kind:
            case "crash":
                # All it held is forgotten, another process takes its place; its tokens may be on their way still.
                self._incarnations[action.worker] += 1
            case "scripts gone":
                self._raw.script_flush()
            case "full":
                self._raw.config_set("maxmemory", 1)
                self._full_for = action.lasts
            case "wake token lost":
                self._take_wake_token(action.queue)

    def _take_wake_token(self, queue: str) -> None:
        self._raw.lpop(queue_key(queue, "wake"))
        self._models[queue].wake = 0
