"""Runs flows against one queue in every order their Redis calls can come in.

A flow is a coroutine that is given a store whose every call waits for its turn. One run follows one
schedule; then everything starts anew on an empty queue with the next one, until none is left. The
scripts are atomic, so the orders of calls are all there is to try.
"""

from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, overload

from leaseforge.calls import Batch, Call, Plan, Replicated, Step
from leaseforge.errors import LeaseforgeError, StoreError
from leaseforge.store import SyncStore

T = TypeVar("T")
Flow = Callable[["TurnStore"], Coroutine["Turn", Any, Any]]
MOST_TURNS = 14
MOST_SCHEDULES = 2000


@dataclass(frozen=True, slots=True)
class Turn:
    """What a flow wants to do next: a call, or something that befalls the queue. `opens`: an operation begins here."""

    what: Call[Any] | Callable[[], Any]
    opens: bool

    @property
    def name(self) -> str:
        return self.what.script.name if isinstance(self.what, Call) else getattr(self.what, "__name__", "event")

    def __await__(self) -> Generator["Turn", Any, Any]:
        return (yield self)


class TurnStore:
    """What a flow takes for its store: `run` is one operation, each Redis call in it a turn of its own."""

    @overload
    async def run(self, work: Call[T]) -> T: ...
    @overload
    async def run(self, work: Plan[T]) -> T: ...
    async def run(self, work: Call[T] | Plan[T]) -> Any:
        plan = iter(work)
        opens = True
        try:
            step: Step = next(plan)
            while True:
                try:
                    answer = await self._step(step, opens=opens)
                except LeaseforgeError as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer)
                opens = False
        except StopIteration as end:
            return end.value

    async def attempt(self, work: Call[T] | Plan[T]) -> Any:
        """The operation's answer, or the name of what it raised; a fault of the store is no answer."""
        try:
            return await self.run(work)
        except StoreError:
            raise
        except LeaseforgeError as error:
            return type(error).__name__

    async def befall(self, event: Callable[[], Any]) -> Any:
        """Lets something happen to the queue: time passes, a key goes."""
        return await Turn(event, opens=True)

    async def _step(self, step: Step, *, opens: bool) -> Any:
        match step:
            case Call():
                return await Turn(step, opens)
            case Replicated():
                return await Turn(step.call, opens)
            case Batch():
                # A pipeline is not atomic: other clients' calls may come between its parts.
                return [await Turn(call, opens and not at) for at, call in enumerate(step.calls)]


@dataclass(slots=True)
class Run:
    """One schedule carried out: who had each turn, what was done in it, and what the flows returned."""

    flows: tuple[str, ...]
    turns: list[tuple[str, str, Any]] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(f"  {flow:>12}: {name} -> {answer!r}"[:400] for flow, name, answer in self.turns)


def explore(
    flows: Mapping[str, Flow],
    store: SyncStore,
    *,
    reset: Callable[[], None],
    after_turn: Callable[[], None] = lambda: None,
    whole_operations: bool = False,
) -> Iterator[Run]:
    """Carries out every schedule, each on a queue that `reset` has arranged.

    With `whole_operations` flows take turns by operation, as if each were atomic: the serial orders.
    `after_turn` sees each state once: those that a schedule shares with an earlier one are passed over.
    """
    prefix: list[int] = []
    names = tuple(flows)
    for _ in range(MOST_SCHEDULES):
        reset()
        run, taken, open_to = _carry_out(flows, names, store, prefix, after_turn, whole_operations)
        assert len(taken) <= MOST_TURNS, f"{len(taken)} turns: too many schedules to try them all"
        yield run
        at = next((i for i in reversed(range(len(taken))) if taken[i] < open_to[i][-1]), None)
        if at is None:
            return
        prefix = [*taken[:at], next(flow for flow in open_to[at] if flow > taken[at])]
    raise AssertionError(f"more than {MOST_SCHEDULES} schedules")


def _carry_out(
    flows: Mapping[str, Flow],
    names: Sequence[str],
    store: SyncStore,
    prefix: Sequence[int],
    after_turn: Callable[[], None],
    whole_operations: bool,
) -> tuple[Run, list[int], list[list[int]]]:
    run = Run(tuple(names))
    coroutines = [flows[name](TurnStore()) for name in names]
    pending: dict[int, Turn] = {}
    taken: list[int] = []
    open_to: list[list[int]] = []

    def advance(flow: int, step: Callable[[], Turn]) -> None:
        try:
            pending[flow] = step()
        except StopIteration as end:
            pending.pop(flow, None)
            run.answers[names[flow]] = end.value

    try:
        for flow, coroutine in enumerate(coroutines):
            advance(flow, lambda coroutine=coroutine: coroutine.send(None))  # type: ignore[misc]  # bound at once
        while pending:
            able = sorted(pending)
            if whole_operations and taken and taken[-1] in pending and not pending[taken[-1]].opens:
                able = [taken[-1]]
            flow = prefix[len(taken)] if len(taken) < len(prefix) else able[0]
            turn, coroutine = pending[flow], coroutines[flow]
            taken.append(flow)
            open_to.append(able)
            try:
                # Every flow is a program of its own: none knows an answer from what another asked.
                what = turn.what
                answer = store.run(replace(what, fresh_for_s=0.0)) if isinstance(what, Call) else what()
            except LeaseforgeError as error:
                run.turns.append((names[flow], turn.name, error))
                advance(flow, lambda error=error: coroutine.throw(error))  # type: ignore[misc]  # noqa: B023 - called at once
            else:
                run.turns.append((names[flow], turn.name, answer))
                advance(flow, lambda answer=answer: coroutine.send(answer))  # type: ignore[misc]  # noqa: B023 - called at once
            if len(taken) >= len(prefix):
                after_turn()
    except BaseException as error:
        error.add_note(f"after this schedule:\n{run}")
        raise
    finally:
        for coroutine in coroutines:
            coroutine.close()
    return run, taken, open_to
