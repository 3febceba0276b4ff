"""Finds an author's tasks: imports modules and collects what `@task` made in them, and the middleware beside it."""

import importlib
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

from leaseforge.errors import LeaseforgeError
from leaseforge.middleware import Middleware
from leaseforge.registry import Registry
from leaseforge.tasks import AnyTask, Task, TaskError


class LoadError(LeaseforgeError):
    """The tasks cannot be loaded; one line says which module or task and why."""


def load_tasks(targets: Sequence[str], *, folder: Path | None = None) -> Registry:
    """Imports each target and returns the tasks found, ready to run. Raises LoadError.

    A target is `module` (every task that is an attribute of it) or `module:attribute` (one task,
    or a Registry, whose middleware stays with its tasks). Middleware among a module's attributes
    surrounds every task found, unless one of them names it as its own. Modules are looked for in
    `folder` first, the current folder by default, as `python -m` does.
    """
    put_first_on_path(folder or Path.cwd())
    found: list[tuple[AnyTask, Sequence[Middleware]]] = []
    beside: list[Middleware] = []
    for target in targets:
        module_name, _, attribute = target.partition(":")
        module = _import(module_name, target)
        found += _tasks_of(module, attribute, target)
        beside += [value for value in vars(module).values() if isinstance(value, Middleware)]
    if targets and not found:
        raise LoadError(f"no tasks in {', '.join(targets)}: middleware alone runs no jobs")
    of_all = _of_all(beside, found)
    try:
        registry = Registry()
        for task, around in found:
            # Given to each task and not to the registry: demo tasks, which may join it, are none of the author's.
            registry.add(task, middleware=(*of_all, *around))
        registry.whereabouts()
    except TaskError as error:
        raise LoadError(str(error)) from error
    return registry


def _of_all(beside: Iterable[Middleware], found: Iterable[tuple[AnyTask, Sequence[Middleware]]]) -> list[Middleware]:
    """Middleware that no task or registry has claimed for itself, once each, in order of definition."""
    claimed = {id(one) for task, around in found for one in (*around, *task.middleware)}
    return list({id(one): one for one in beside if id(one) not in claimed}.values())


def put_first_on_path(folder: Path) -> None:
    """Makes a folder the first place modules are looked for, once."""
    text = str(folder)
    if text in sys.path:
        sys.path.remove(text)
    sys.path.insert(0, text)


def _import(name: str, target: str) -> ModuleType:
    if not name or not all(part.isidentifier() for part in name.split(".")):
        raise LoadError(f"{target!r} is no module name: write it like `mytasks` or `package.tasks:send_email`")
    try:
        return importlib.import_module(name)
    except TaskError as error:
        raise LoadError(f"module '{name}': {error}") from error
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise LoadError(
                f"no module named '{error.name}' here ({Path.cwd()}) or among installed packages"
            ) from error
        raise LoadError(f"module '{name}' needs '{error.name}', which is not installed{_place(error)}") from error
    except SystemExit as error:
        raise LoadError(
            f"module '{name}' ended the program while it was imported (sys.exit({error.code!r}))"
        ) from error
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise LoadError(f"module '{name}' cannot be imported: {text}{_place(error)}") from error


def _place(error: Exception) -> str:
    """Where in the author's code an import went wrong: the innermost line outside the import system."""
    if isinstance(error, SyntaxError) and error.filename:
        return ""  # its message names file and line
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen")
        and Path(frame.filename) != Path(__file__)
        and Path(frame.filename) != Path(importlib.__file__)
    ]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def _tasks_of(module: ModuleType, attribute: str, target: str) -> list[tuple[AnyTask, Sequence[Middleware]]]:
    """The tasks a target names, each with the middleware it brings besides its own."""
    if attribute:
        found = module
        for part in attribute.split("."):
            if not hasattr(found, part):
                raise LoadError(f"module '{module.__name__}' has no '{attribute}'")
            found = getattr(found, part)
        if isinstance(found, Task):
            return [(found, ())]
        if isinstance(found, Registry):
            return [(task, found.around(task.name)) for task in found]
        raise LoadError(f"'{target}' is no task: put @task before the function, or name a Registry")
    values = list(vars(module).values())
    tasks = [value for value in values if isinstance(value, Task)]
    if not tasks and not any(isinstance(value, Middleware) for value in values):
        raise LoadError(f"module '{module.__name__}' has no tasks: put @task before the functions that run jobs")
    return [(task, ()) for task in tasks]
