"""Log lines on standard output, the same for every process: JSON, one object a line, or text on a terminal.

Lines of libraries that use Python's own logging (uvicorn among them) come out in the same shape.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from types import FrameType
from typing import Any

import structlog
from structlog.typing import Processor

from leaseforge import events
from leaseforge.redaction import redact
from leaseforge.tracing import add_trace

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
FORMATS = ("auto", "json", "text")
COMPONENTS: Mapping[str, str] = {
    "engine": "leaseforge",
    "worker": "leaseforge_worker",
    "auth": "leaseforge_auth",
    "api": "leaseforge_api",
    "console": "leaseforge_console",
    "cli": "leaseforge_cli",
}
"""Short names for the loggers of our packages. Any other name is that of a logger: a task module's, a library's."""
TALKATIVE = ("uvicorn", "asyncio", "redis", "litestar", "httpx", "httpcore", "authlib", "multipart", "concurrent")
"""Libraries that are heard from `warning` on, unless a level is given for them."""


def levels(text: str) -> str:
    """Checks a setting such as `info` or `info,worker=debug,uvicorn=info`; answers it without spaces."""
    parts = [part.strip() for part in text.lower().split(",")]
    for index, part in enumerate(parts):
        name, is_named, level = part.rpartition("=")
        if level not in LEVELS or bool(is_named) != bool(name) or (index == 0) == bool(name):
            raise ValueError(
                f"must be {', '.join(LEVELS)}, with component=level behind it where one differs (info,worker=debug)"
            )
    return ",".join(parts)


def level_of(name: str, text: str) -> int:
    """The level, as in Python's logging, of a component or logger under a setting that `levels` has checked."""
    return _Thresholds(text).of(COMPONENTS.get(name, name))


def configure(level: str, *, format: str = "auto") -> None:
    """Sets up logging for the whole process; called once, by whoever starts it. `level` as `levels` checks it.

    `auto` is text where standard output is a terminal, else JSON. Tracebacks are written without the values of
    variables: those may be passwords, tokens and payloads.
    """
    thresholds = _Thresholds(level)
    is_text = format == "text" or (format == "auto" and sys.stdout.isatty())
    # structlog asks for the least of all levels first, which is cheap; what one component leaves out comes after.
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        add_trace,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if is_text else "iso", utc=not is_text),
        structlog.processors.format_exc_info,
        redact,
        *_rendering(is_text),
    ]
    structlog.configure(
        processors=[thresholds.keep, *shared],
        wrapper_class=structlog.make_filtering_bound_logger(thresholds.least),
        logger_factory=_named_logger,
        cache_logger_on_first_use=True,
    )
    _Standing.level, _Standing.format = level, format
    _Standing.wrapper = structlog.get_config()["wrapper_class"]
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, _FromLogging)]:
        root.removeHandler(handler)
    root.addHandler(_FromLogging(thresholds, shared))
    root.setLevel(thresholds.least)


def standing() -> tuple[str, str]:
    """Level and format this process was configured with, for a child of it; empty if it has a log of its own."""
    is_ours = structlog.get_config()["wrapper_class"] is _Standing.wrapper
    return (_Standing.level, _Standing.format) if is_ours else ("", "")


class _Standing:
    """What `configure` was last told."""

    level = ""
    format = ""
    wrapper: type | None = None


class _Thresholds:
    """From which level on a logger is heard; the longest name that fits decides."""

    def __init__(self, text: str) -> None:
        first, *named = text.split(",")
        self._usual = LEVELS[first]
        self._known: dict[str, int] = {name: max(self._usual, logging.WARNING) for name in TALKATIVE}
        for part in named:
            name, _, level = part.rpartition("=")
            self._known[COMPONENTS.get(name, name)] = LEVELS[level]
        self.least = min(self._usual, *self._known.values())

    def of(self, logger: str) -> int:
        """The level of a logger, by its dotted name."""
        return next((self._known[name] for name in _prefixes(logger) if name in self._known), self._usual)

    def keep(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Drops a line below its component's level, and names its logger; a structlog processor."""
        name = getattr(logger, "name", "")
        if _NUMBERS.get(method, logging.ERROR) < self.of(name):
            raise structlog.DropEvent
        event["logger"] = name
        return event


_NUMBERS = {**LEVELS, "warn": logging.WARNING, "exception": logging.ERROR, "critical": logging.CRITICAL}


def _prefixes(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


class _Output:
    """Writes lines to whatever standard output is by then. `name` is the module that logs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def msg(self, line: str) -> None:
        """Writes one line, in one piece."""
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    debug = info = warning = warn = error = critical = exception = fatal = log = msg


def _named_logger(*names: str) -> _Output:
    """A logger of the module that logs, which is the nearest caller outside structlog."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "structlog":
        frame = frame.f_back
    module = str(frame.f_globals.get("__name__", "")) if frame is not None else ""
    return _Output(names[0] if names else module)


def _rendering(is_text: bool) -> Sequence[Processor]:
    if not is_text:
        return [_as_json]
    colors = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return [_tame, structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]


_json = json.JSONEncoder().encode
"""One encoder for all lines: structlog's renderer makes one for each. What `redact` leaves is plain."""


def _as_json(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    return _json(event)


# Values of fields are escaped by the renderer; a traceback is not, and what it ends with may come from a payload.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def _tame(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Keeps a traceback from steering the terminal, and its lines from being taken for lines of the log."""
    if isinstance(found := event.get("exception"), str):
        visible = _STEERING.sub(lambda one: f"\\u{ord(one[0]):04x}", found)
        event["exception"] = "\n".join(f"  {line}" for line in visible.split("\n"))
    return event


class _FromLogging(logging.Handler):
    """Passes on what libraries log, as the event `library_line` with the library's own text as `message`."""

    def __init__(self, thresholds: _Thresholds, processors: Sequence[Processor]) -> None:
        super().__init__()
        self._thresholds = thresholds
        self._processors = processors

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record, unless its logger is not to be heard at this level."""
        if record.levelno < self._thresholds.of(record.name):
            return
        try:
            method = record.levelname.lower() if record.levelname.lower() in _NUMBERS else "info"
            line: Any = {"logger": record.name, "event": events.LIBRARY_LINE, "message": record.getMessage()}
            if record.exc_info:
                line["exc_info"] = record.exc_info
            output = _Output(record.name)
            for processor in self._processors:
                line = processor(output, method, line)
            output.msg(line)
        except Exception:
            self.handleError(record)
