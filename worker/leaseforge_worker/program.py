"""Settings given by a program instead of the environment, under the same rules."""

from collections.abc import Mapping

from leaseforge.errors import BadInput, FieldProblem, SettingsError
from leaseforge.settings import declared
from leaseforge_worker.settings import WorkerSettings


def program_settings(**given: object) -> WorkerSettings:
    """The settings with these fields, each checked as its text in the environment would be; None leaves the default.

    Raises SettingsError that names every wrong field.
    """
    known = declared(WorkerSettings)
    values: dict[str, object] = {}
    problems: list[FieldProblem] = []
    for name, value in given.items():
        if value is None:
            continue
        try:
            values[name] = known[name].parse(_text(value))
        except BadInput as error:
            problems += [FieldProblem(name, problem.message) for problem in error.problems]
        except ValueError as error:
            problems.append(FieldProblem(name, str(error)))
    if problems:
        raise SettingsError(problems)
    return WorkerSettings(**values)  # type: ignore[arg-type]  # each was parsed by its field's own rule


def _text(value: object) -> str:
    """A value the way it stands in the environment."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={weight}" for name, weight in value.items())
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)
