"""Finds an author's tasks: imports modules and collects what `@task` made in them."""

import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from leaseforge.errors import LeaseforgeError
from leaseforge.tasks import Registry, Task, TaskError


class LoadError(LeaseforgeError):
    """The tasks cannot be loaded; one line says which module or task and why."""


def load_tasks(targets: Sequence[str], *, folder: Path | None = None) -> Registry:
    """Imports each target and returns the tasks found, ready to run. Raises LoadError.

    A target is `module` (every task that is an attribute of it) or `module:attribute` (one task,
    or a Registry). Modules are looked for in `folder` first, the current folder by default, as
    `python -m` does.
    """
    put_first_on_path(folder or Path.cwd())
    registry = Registry()
    for target in targets:
        module_name, _, attribute = target.partition(":")
        module = _import(module_name, target)
        try:
            for task in _tasks_of(module, attribute, target):
                registry.add(task)
        except TaskError as error:
            raise LoadError(str(error)) from error
    return registry


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


def _tasks_of(module: ModuleType, attribute: str, target: str) -> list[Task[..., Any]]:
    if attribute:
        found = module
        for part in attribute.split("."):
            if not hasattr(found, part):
                raise LoadError(f"module '{module.__name__}' has no '{attribute}'")
            found = getattr(found, part)
        if isinstance(found, Task):
            return [found]
        if isinstance(found, Registry):
            return list(found)
        raise LoadError(f"'{target}' is no task: put @task before the function, or name a Registry")
    tasks = [value for value in vars(module).values() if isinstance(value, Task)]
    if not tasks:
        raise LoadError(f"module '{module.__name__}' has no tasks: put @task before the functions that run jobs")
    return tasks
