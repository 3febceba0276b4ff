"""What producers and workers do in an example: each call to both sides, answers compared."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leaseforge import attempts, exchanges, operations, outbox
from leaseforge.answers import Answer
from leaseforge.calls import Call
from leaseforge.errors import StoreFull
from leaseforge.exchanges import Exchanged, Outcome, Settlement
from leaseforge.jobs import NewJob
from tests.model import actions, attempt_model
from tests.model.actions import NOWHERE, Ending, Whose
from tests.model.attempt_model import ClaimedJob
from tests.model.queue_model import QueueModel
from tests.model.twin_base import MAX_RECOVERIES, TwinBase, check_wait, picked


class WorkTwin(TwinBase):
    """Enqueues, exchanges, what running attempts say, and follow-ups on their way."""

    # producers

    def _enqueue(self, queue: str, jobs: Sequence[NewJob], times: int) -> None:
        for _ in range(times):
            self._clock.ready()
            try:
                stored = self._store.run(operations.enqueue_many(jobs))
            except StoreFull:
                assert self._full_for
            else:
                assert not self._full_for
                assert [(str(one.answer), one.id) for one in stored] == self._models[queue].enqueue(jobs)
            self._compare()

    def _enqueue_again(self, action: actions.EnqueueAgain) -> None:
        wants_key = action.how != "request"
        pool = [
            (order, job)
            for order, job in self._requests.values()
            if job.queue in self._models and (order.idem or not wants_key)
        ]
        if not pool:
            return
        order, job = picked(pool, action.pick)
        if wants_key:
            job = self._request(job.queue, order if action.how == "key" else replace(order, type="c"))
        self._enqueue(job.queue, [job], 1)

    # workers

    def _exchange(
        self,
        sender: tuple[str, str, int],
        lease_ms: int,
        want: int,
        settlements: Sequence[Settlement],
        times: int,
    ) -> None:
        queue, run_id, number = sender
        self._sent.append(sender)
        for _ in range(times):
            self._clock.ready()
            call = exchanges.exchange(
                queue, run_id=run_id, number=number, lease_ms=lease_ms, want=want, settlements=settlements
            )
            reply = self._store.run(call)
            issued = [job.token for job in reply.claimed]
            expected = self._models[queue].exchange(run_id, number, lease_ms, want, settlements, issued)
            answered = self._answered(reply)
            assert replace(answered, wait_ms=None) == replace(expected, wait_ms=None)
            check_wait(answered.wait_ms, expected.wait_ms)
            if reply.status is not Answer.ALREADY_DONE:
                self._issued += [(job.id, job.token) for job in reply.claimed]
            self._compare()

    def _answered(self, reply: Exchanged) -> attempt_model.Exchange:
        settled = tuple(str(state or answer) for answer, state in zip(reply.settled, reply.states, strict=True))
        claimed = tuple(
            ClaimedJob(
                job.id,
                job.token,
                job.type,
                job.payload,
                job.attempt,
                job.failures,
                job.recoveries,
                job.replays,
                job.priority,
                self._logical(job.created_at_ms),
                self._logical(job.ready_at_ms),
            )
            for job in reply.claimed
        )
        return attempt_model.Exchange(settled, claimed, str(reply.status), reply.wait_ms, reply.more)

    def _settlement(self, queue: str, ending: Ending) -> Settlement | None:
        held = self._held(queue, ending.pick, ending.whose)
        if held is None:
            return None
        is_failure, is_success = ending.outcome is Outcome.FAIL, ending.outcome is Outcome.COMPLETE
        goes_wrong = is_failure or ending.outcome is Outcome.CRASH
        follow_ups = ending.follow_ups if is_success else ()
        return Settlement(
            *held,
            ending.outcome,
            result=ending.result if is_success else b"",
            error_kind="Broken" if goes_wrong else "",
            error_message=f"no {ending.pick} in 'here'" if goes_wrong else "",
            max_attempts=self._budget(held[0]),
            delay_ms=ending.delay_ms,
            permanent=ending.permanent if is_failure else "",
            timed_out=is_failure and ending.timed_out,
            max_recoveries=MAX_RECOVERIES,
            job_type="a",
            follow_ups=tuple(self._request(target, replace(order, at_ms=None)) for target, order in follow_ups),
        )

    def _held(self, queue: str, pick: int, whose: Whose) -> tuple[str, str] | None:
        """A job's id and a token for it."""
        model = self._models[queue]
        pool = model.running()
        if whose == "zombie":
            late = [pair for pair in self._issued if pair[0] in model.jobs and pair not in pool]
            running_anew = [pair for pair in late if model.jobs[pair[0]].state == "running"]
            pool = running_anew or late
        if not pool or whose == "any":
            pool = self._issued
        return picked(pool, pick) if pool else None

    def _beat(self, action: actions.Beat) -> None:
        held = [pair for pick, whose in action.held if (pair := self._held(action.queue, pick, whose))]
        if not held:
            return
        model, queue = self._models[action.queue], action.queue
        lease_ms, percent = actions.LEASES_MS[action.number % 2], action.number
        lines = [f"line {action.number + index}" for index in range(len(held))]
        for _ in range(action.times):
            self._clock.ready()
            answers = self._store.run(exchanges.renew(queue, lease_ms=lease_ms, held=held))
            assert [str(answer) for answer in answers] == model.renew(lease_ms, held)
            self._compare()
        for _ in range(action.times):
            self._clock.ready()
            answer = self._store.run(attempts.progress(queue, *held[0], percent=percent, note="so far"))
            assert str(answer) == model.progress(*held[0], f"{percent} so far")
            answer = self._store.run(attempts.log(queue, *held[0], first=action.number, lines=lines))
            assert str(answer) == model.log(*held[0], action.number, lines)
            self._compare()

    def _forward(self, action: actions.Forward) -> None:
        """Goes through the plan by hand, as the process may die between any two of its calls."""
        plan = outbox.forward(action.queue, limit=action.limit)
        step = next(plan)
        refused: set[str] = set()
        done: outbox.Forwarded | None = None
        try:
            for _ in range(action.stops_after):
                assert isinstance(step, Call)
                self._clock.ready()
                try:
                    answer = self._store.run(step)
                except StoreFull as error:
                    step = plan.throw(error)
                else:
                    self._forward_step(self._models[action.queue], step, answer, refused)
                    step = plan.send(answer)
                self._compare()
        except StopIteration as end:
            done = end.value
        plan.close()
        assert done is None or done.left == len(self._models[action.queue].outbox)

    def _forward_step(self, model: QueueModel, step: Call[Any], answer: Any, refused: set[str]) -> None:
        match step.script.name:
            case "read_outbox":
                total, waiting = answer
                assert total == len(model.outbox)
                assert {entry.job[0] for entry in waiting} <= model.outbox.keys()
            case "enqueue":
                target = step.keys[0][1].removeprefix("lf:{").partition("}")[0]
                jobs = [self._requests[str(job_id)][1] for job_id in step.rest[::6]]
                # On its way to another queue a follow-up's id is its idempotency key, unless it has one.
                keyed = [job if job.idempotency_key else replace(job, idempotency_key=job.id) for job in jobs]
                expected = self._models[target].enqueue(keyed)
                assert [(str(one.answer), one.id) for one in answer.jobs] == expected
                refused |= {job.id for job, (word, _) in zip(jobs, expected, strict=True) if word == "refused"}
            case "forwarded":
                words = [str(word) for word in step.rest]
                for job_id, parent, refusal in zip(words[::3], words[1::3], words[2::3], strict=True):
                    assert bool(refusal) == (job_id in refused or self._requests[job_id][1].queue == NOWHERE)
                    model.forwarded(job_id, parent, refusal)
