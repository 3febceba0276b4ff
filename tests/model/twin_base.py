"""Both sides of an example, the engine on a real server and its model, and the comparison of all they hold."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import md5
from typing import Any, TypeVar

from leaseforge.enqueueing import register_queue
from leaseforge.errors import InvalidTransition, JobNotFound, QueueNotFound, UniqueKeyTaken
from leaseforge.jobs import JobState, NewJob
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from tests.model.actions import LINE, SIDE, Order
from tests.model.clockwork import GRID_MS, Clockwork
from tests.model.invariants import broken_rules
from tests.model.pictures import differences, see
from tests.model.queue_model import QueueModel

T = TypeVar("T")
MAX_RECOVERIES = 2
DEFAULT_ATTEMPTS = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TwinBase:
    """What every action needs. `raw` is a plain client, for what the product's own calls do not do."""

    def __init__(self, raw: Any, store: SyncStore) -> None:
        self._raw = raw
        self._store = store
        self.compared = 0
        self.lost = 0
        self.totals: Counter[str] = Counter()
        self._models: dict[str, QueueModel] = {}

    def begin(self) -> None:
        """An empty database, and a model of it."""
        self._raw.config_set("maxmemory", 0)
        self._raw.flushdb()
        for name in (LINE, SIDE):
            # A store remembers for a while which names it has told; a server that lost all must be told anew.
            self._store.run(register_queue(name, anew=True))
        self._clock = Clockwork(self._raw)
        self._models = {name: QueueModel(name, self._clock) for name in (LINE, SIDE)}
        self._given_up = False
        self._full_for = 0
        self._clock_went_back = False
        self._requests: dict[str, tuple[Order, NewJob]] = {}
        self._issued: list[tuple[str, str]] = []
        self._incarnations = {"w1": 0, "w2": 0}
        self._sent: list[tuple[str, str, int]] = []
        self._shown: list[tuple[str, int, int]] = []
        self._operations = 0

    def end(self) -> None:
        """Leaves the server as it was found, and adds up what happened."""
        self._raw.config_set("maxmemory", 0)
        for model in self._models.values():
            self.totals.update(model.counts)
        self._models = {}

    def _compare(self) -> None:
        """Every key must be as the model has it, and the rules of every queue must hold."""
        self.compared += 1
        for name, seen in see(self._clock.entries(), list(self._models), self._clock.base_ms).items():
            wrong = differences(self._models[name].picture(), seen.picture)
            wrong += broken_rules(seen, self._budget, MAX_RECOVERIES, clock_went_back=self._clock_went_back)
            assert not wrong, f"queue {name}:\n" + "\n".join(wrong)

    def _logical(self, ms: int) -> int:
        return ms // GRID_MS * GRID_MS - self._clock.base_ms

    def _request(self, queue: str, order: Order) -> NewJob:
        """A request of its own id. Ids stand in no order, as real ones do."""
        digest = md5(str(len(self._requests)).encode(), usedforsecurity=False).hexdigest()
        at = None
        if order.at_ms is not None and order.idem is None and not order.delay_ms:
            self._clock.ready()
            at = _EPOCH + timedelta(milliseconds=self._clock.base_ms + self._clock.now + order.at_ms)
        job = new_job(
            order.type,
            b"{}",
            id=f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:]}",
            priority=order.priority,
            delay_ms=order.delay_ms,
            at=at,
            unique_key=order.unique,
            unique_ttl_ms=order.unique_ttl_ms,
            idempotency_key=order.idem,
            max_attempts=order.max_attempts,
            created_by=order.created_by,
        )
        job = replace(job, queue=queue)
        self._requests[job.id] = order, job
        return job

    def _budget(self, job_id: str) -> int:
        most = self._requests[job_id][0].max_attempts
        return DEFAULT_ATTEMPTS if most is None else most

    def _any_job(self, pick: int, states: frozenset[JobState]) -> tuple[str, QueueModel]:
        """A job in one of those states, if there is one; else any ever asked for, one that is gone included."""
        living = [(job_id, model) for model in self._models.values() for job_id in model.jobs]
        fitting = [(job_id, model) for job_id, model in living if model.jobs[job_id].state in states]
        if fitting:
            # Running jobs last, as the likeliest: what operators do meets what workers do there.
            return picked(sorted(fitting, key=lambda pair: pair[1].jobs[pair[0]].state == "running"), pick)
        job_id = picked(list(self._requests), pick)
        return job_id, next((model for name, model in living if name == job_id), self._models[LINE])

    def _told(self, plan: Any) -> tuple[str, str]:
        try:
            return str(self._store.run(plan)), ""
        except (JobNotFound, QueueNotFound):
            return "not_found", ""
        except InvalidTransition as error:
            return "conflict", error.state
        except UniqueKeyTaken as error:
            return "conflict", error.holder


def picked(pool: Sequence[T], pick: int) -> T:
    """The last ones are the likeliest to matter."""
    return pool[-1 - pick % len(pool)]


def check_wait(answered: int | None, longest: int | None) -> None:
    """A wait counts from the call, which ran within the step."""
    assert (answered is None) == (longest is None)
    if answered is not None and longest is not None:
        assert max(0, longest - GRID_MS) <= answered <= longest
