"""The tasks a worker runs, and what surrounds each of them."""

from collections.abc import Iterable, Iterator
from typing import Final

from leaseforge.isolation import NotFoundThere, Whereabouts, whereabouts
from leaseforge.middleware import Handler, Middleware, async_hooks, surrounded
from leaseforge.tasks import AnyTask, TaskError, instances_of


class Registry:
    """The tasks of one worker, by name, and the middleware around all of them, outermost first.

    Two tasks of one name are refused; adding the same one twice is not.
    """

    def __init__(self, tasks: Iterable[AnyTask] = (), *, middleware: Iterable[Middleware] = ()) -> None:
        self.middleware: Final = instances_of("a registry", middleware)
        self._tasks: dict[str, AnyTask] = {}
        self._around: dict[str, tuple[Middleware, ...]] = {}
        self._handlers: dict[str, Handler] = {}
        for one in tasks:
            self.add(one)

    def add(self, added: AnyTask, *, middleware: Iterable[Middleware] = ()) -> None:
        """Takes a task in, with `middleware` between the registry's and its own.

        Raises TaskError if its name is taken, its annotation cannot be resolved, or a hook around it cannot be waited
        for. One middleware given twice surrounds the task once, where it came first.
        """
        present = self._tasks.get(added.name)
        if present is added:
            return
        if present is not None:
            raise TaskError(f"two tasks are named '{added.name}': {present.source} and {added.source}")
        around = (*self.middleware, *instances_of(f"task '{added.name}'", middleware))
        # Told apart by identity: an author's class may have an equality of its own, or no hash.
        layers = list({id(one): one for one in (*around, *added.middleware)}.values())
        hooks = [hook for one in layers for hook in async_hooks(one)]
        if hooks and not added.is_async:
            raise TaskError(f"task '{added.name}' is a `def`: nothing there can wait for {', '.join(hooks)}")
        added.prepare()
        self._handlers[added.name] = surrounded(
            added.function, takes_payload=added.takes_payload, is_async=added.is_async, middleware=layers
        )
        self._around[added.name] = around
        self._tasks[added.name] = added

    def get(self, name: str) -> AnyTask | None:
        """The task for jobs of this type, or None."""
        return self._tasks.get(name)

    def handler(self, name: str) -> Handler:
        """What an attempt at a job of this type calls, with (context, decoded payload). Raises KeyError without one.

        It returns something to await if the task is async.
        """
        return self._handlers[name]

    def around(self, name: str) -> tuple[Middleware, ...]:
        """The middleware around this task besides its own. Raises KeyError without such a task."""
        return self._around[name]

    def whereabouts(self) -> tuple[Whereabouts, ...]:
        """How child processes find the isolated tasks. Raises TaskError for one that cannot be found there."""
        found = []
        for one in self:
            if one.isolation is None:
                continue
            try:
                found.append(whereabouts(one.name, one, one.function, self._around[one.name]))
            except NotFoundThere as error:
                raise TaskError(f"task '{one.name}' cannot run in a child process: {error}") from None
        return tuple(found)

    def names(self) -> tuple[str, ...]:
        """The types this worker can run, sorted."""
        return tuple(sorted(self._tasks))

    def forms(self) -> dict[str, bytes]:
        """Of each type the JSON Schema of its payload, b"" where the task declares none."""
        return {name: self._tasks[name].form for name in self.names()}

    def __contains__(self, name: object) -> bool:
        return name in self._tasks

    def __iter__(self) -> Iterator[AnyTask]:
        return iter(self._tasks.values())

    def __len__(self) -> int:
        return len(self._tasks)
