"""How a task is isolated in a child process, and how that process finds the task."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from leaseforge.limits import MAX_CPU_S, MAX_MEMORY_MB
from leaseforge.middleware import Middleware
from leaseforge.places import Place, place_of


@dataclass(frozen=True, slots=True)
class Isolation:
    """A task that runs in a child process. None is no limit.

    `memory_mb`: MiB of address space one attempt may add to what the process has when it starts; beyond that it gets
    a MemoryError. `cpu_s`: seconds of processor time one attempt may use; beyond that its process is killed.
    """

    memory_mb: int | None = None
    cpu_s: int | None = None

    def problems(self) -> list[str]:
        """Every rule these limits break, in words that name the argument of `@task`."""
        limits: tuple[tuple[str, object, int], ...] = (
            ("memory_mb", self.memory_mb, MAX_MEMORY_MB),
            ("cpu_s", self.cpu_s, MAX_CPU_S),
        )
        return [
            f"{name} must be a whole number from 1 to {high}, not {value!r}"
            for name, value, high in limits
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= high)
        ]


class Whereabouts(msgspec.Struct, frozen=True):
    """How another process finds a task: the task or its bare function, and the middleware around it besides its own."""

    name: str
    task: Place
    around: tuple[Place, ...]


class NotFoundThere(Exception):
    """A child process could not find something; the message says what and why."""


def whereabouts(name: str, task: object, function: Callable[..., Any], around: Sequence[Middleware]) -> Whereabouts:
    """Where a child process finds a task. Raises NotFoundThere.

    A task that a program made of an importable function is found by that function; one with middleware of its own
    must itself be an attribute of a module.
    """
    written: Any = function
    while isinstance(written, partial):
        written = written.func
    module, qualname = getattr(written, "__module__", None) or "", getattr(written, "__qualname__", "")
    place = place_of(task, modules=(module,), attribute=qualname)
    if place is None and not getattr(task, "middleware", ()):
        place = place_of(function, modules=(module,), attribute=qualname)
    if place is None:
        raise NotFoundThere(_why_not(module, qualname))
    found = []
    for one in around:
        held = place_of(one, modules=(module, type(one).__module__))
        if held is None:
            raise NotFoundThere(f"its middleware {type(one).__name__} is no attribute of an importable module")
        found.append(held)
    return Whereabouts(name, place, tuple(found))


def _why_not(module: str, qualname: str) -> str:
    if module == "__main__":
        return "it is written in the program that was started; put it into a module of its own"
    if "<lambda>" in qualname or "<locals>" in qualname:
        return "it is made inside a function or by a lambda; write it at the top of a module"
    return f"it is no attribute of module '{module}'"
