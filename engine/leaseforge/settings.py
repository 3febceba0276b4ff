"""Settings from the environment: one frozen dataclass a component, all problems told at once.

@dataclass(frozen=True, slots=True)
class WorkerSettings:
    concurrency: int = setting("LEASEFORGE_WORKER_CONCURRENCY", default=16, parse=whole(1, 1000), help="...")

read(WorkerSettings, os.environ)
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from leaseforge.errors import BadInput, FieldProblem, SettingsError
from leaseforge.store.address import parse_address

S = TypeVar("S")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known of one setting: its variable, how text becomes its value, and what it is for."""

    env: str
    parse: Callable[[str], Any]
    help: str
    secret: bool


def setting(
    env: str,
    *,
    default: Any = MISSING,
    parse: Callable[[str], Any] = str,
    help: str,
    secret: bool = False,
) -> Any:
    """Declares a dataclass field that is read from the variable `env`.

    `parse` raises ValueError with what would be right. A secret is left out of the repr, and may
    stand in a file named by `env`_FILE instead. Without a default the setting is required.
    """
    return field(default=default, repr=not secret, metadata={"setting": Setting(env, parse, help, secret)})


def part(cls: type[S], *, default: S) -> S:
    """Declares a field that holds settings several components share; they are read with those around it."""
    made: S = field(default=default, metadata={"part": cls})
    return made


def declared(cls: type[Any]) -> dict[str, Setting]:
    """The settings of a dataclass by field name; fields of other kinds are left out."""
    return {f.name: f.metadata["setting"] for f in dataclasses.fields(cls) if "setting" in f.metadata}


def read(cls: type[S], environ: Mapping[str, str]) -> S:
    """Builds `cls` from the environment. Raises SettingsError that names every wrong variable."""
    problems: list[FieldProblem] = []
    values: dict[str, Any] = {}
    for name, known in declared(cls).items():
        try:
            text = _text(known, environ)
            if text is not None:
                values[name] = known.parse(text)
            elif _is_required(cls, name):
                problems.append(FieldProblem(known.env, f"is required: {known.help}"))
        except BadInput as error:
            problems += [FieldProblem(known.env, problem.message) for problem in error.problems]
        except (ValueError, OSError) as error:
            problems.append(FieldProblem(known.env, str(error)))
    for shared in dataclasses.fields(cls):  # type: ignore[arg-type]  # a dataclass, as `declared` takes for granted
        if "part" in shared.metadata:
            try:
                values[shared.name] = read(shared.metadata["part"], environ)
            except SettingsError as error:
                problems += error.problems
    if problems:
        raise SettingsError(problems)
    return cls(**values)


def whole(low: int, high: int) -> Callable[[str], int]:
    """Parses a whole number within bounds."""

    def parse(text: str) -> int:
        if not text.strip().removeprefix("-").isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low:,} to {high:,}")
        return int(text)

    return parse


def seconds(low: float, high: float) -> Callable[[str], float]:
    """Parses a number of seconds; s, m, h and d behind it are understood (12h)."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}

    def parse(text: str) -> float:
        text = text.strip()
        factor = units.get(text[-1:], 0.0)
        try:
            value = float(text[:-1] if factor else text) * (factor or 1.0)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise ValueError(f"must be from {low:g} to {high:g} seconds, such as 30 or 12h")
        return value

    return parse


def flag(text: str) -> bool:
    """Parses true or false in the usual spellings."""
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("must be true or false")
    return word in _TRUE


def one_of(*words: str) -> Callable[[str], str]:
    """Parses one of the given words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return text

    return parse


def redis_url(text: str) -> str:
    """Checks a Redis URL of any kind the store can open."""
    parse_address(text)
    return text


def address(text: str) -> tuple[str, int]:
    """Parses host:port, :port (every interface) or [v6]:port."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise ValueError("must be host:port, such as 127.0.0.1:8080")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - ':8080' asks for every interface


def _text(known: Setting, environ: Mapping[str, str]) -> str | None:
    """The setting's text from its variable or, for a secret, from the file its _FILE variable names."""
    text = environ.get(known.env)
    if not known.secret:
        return text or None
    file = environ.get(f"{known.env}_FILE")
    if text and file:
        raise ValueError(f"is set twice, once by {known.env}_FILE")
    return Path(file).read_text("utf-8").strip() if file else text or None


def _is_required(cls: type[Any], name: str) -> bool:
    [found] = [f for f in dataclasses.fields(cls) if f.name == name]
    return found.default is MISSING and found.default_factory is MISSING


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Where Redis is."""

    redis_url: str = setting(
        "LEASEFORGE_REDIS_URL",
        default="redis://127.0.0.1:6379/0",
        parse=redis_url,
        secret=True,
        help="redis://, rediss://, unix://, sentinel(s):// or cluster(s):// URL of the server",
    )
