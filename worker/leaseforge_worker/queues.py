"""Which queues a worker serves, and which of them may claim next."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from leaseforge.limits import MAX_QUEUES
from leaseforge.queues import queue_name_problem

EVERY = "*"
MAX_WEIGHT = 1000


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """The queues named by an operator.

    `every`: all there are and will be. `weights` empty: strict order, a queue gets work only while
    those before it have none. Otherwise each queue's share of the claims while all have work.
    """

    names: tuple[str, ...] = ()
    weights: Mapping[str, int] | None = None
    every: bool = False


def parse_queues(text: str) -> QueueChoice:
    """Reads `a,b` (strict order), `a=3,b=1` (weighted) or `*` (every queue).

    Raises ValueError that tells every problem.
    """
    parts = [part.strip() for part in text.split(",")]
    if parts == [EVERY]:
        return QueueChoice(every=True)
    names: list[str] = []
    weights: dict[str, int] = {}
    problems: list[str] = []
    for part in parts:
        name, weighted, weight = (word.strip() for word in part.partition("="))
        if name == EVERY:
            problems.append("'*' stands alone: it means every queue")
        elif problem := queue_name_problem(name):
            problems.append(f"queue {name!r} {problem}")
        elif name in names:
            problems.append(f"queue {name!r} is named twice")
        names.append(name)
        if weighted:
            if not (weight.isascii() and weight.isdigit() and 1 <= int(weight[:9]) <= MAX_WEIGHT):
                problems.append(f"the weight of {name!r} must be from 1 to {MAX_WEIGHT}")
            else:
                weights[name] = int(weight)
        elif "=" in text:
            problems.append(f"give every queue a weight or none ({name!r} has none)")
    if len(names) > MAX_QUEUES:
        problems.append(f"at most {MAX_QUEUES} queues")
    if problems:
        raise ValueError("; ".join(problems))
    return QueueChoice(tuple(names), weights or None)


class Turns:
    """Whose turn it is to claim, among the queues that may have work."""

    def __init__(self, choice: QueueChoice, draw: Callable[[Sequence[str], Sequence[int]], str] | None = None) -> None:
        self._strict = not choice.every and choice.weights is None
        self._ranks = {name: rank for rank, name in enumerate(choice.names)}
        self._weights = dict(choice.weights or {})
        self._draw = draw or (lambda names, weights: random.choices(names, weights)[0])
        self._drawn: str | None = None

    def next(self, hungry: Collection[str]) -> str | None:
        """The queue that may claim now. It keeps its turn until `taken`, or until it has no work."""
        if not hungry:
            return None
        if self._strict:
            return min(hungry, key=self._ranks.__getitem__)
        if self._drawn not in hungry:
            names = list(hungry)
            self._drawn = names[0] if len(names) == 1 else self._draw(names, [self._weights.get(n, 1) for n in names])
        return self._drawn

    def taken(self, queue: str) -> None:
        """The queue has claimed: the next turn is drawn anew."""
        if queue == self._drawn:
            self._drawn = None
