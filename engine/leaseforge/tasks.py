"""Tasks: the handlers an author registers, and how each wants to be run."""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, Generic, ParamSpec, TypeVar, overload

import msgspec

from leaseforge.errors import LeaseforgeError
from leaseforge.isolation import Isolation
from leaseforge.jobs import Backoff
from leaseforge.limits import MAX_TYPE_BYTES
from leaseforge.middleware import Middleware
from leaseforge.policies import TaskOptions

P = ParamSpec("P")
R = TypeVar("R")

_NAME = re.compile(r"[A-Za-z0-9._:/-]+", re.ASCII)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class TaskError(LeaseforgeError):
    """A function cannot be a task, or not together with the others; the message names it and says why."""


class BadPayload(LeaseforgeError):
    """A job's payload is not what its task's annotation asks for; no retry can change that."""


class PermanentFailure(Exception):
    """Raised by a handler: the job fails for good, whatever is left of its retry budget."""


class Task(Generic[P, R]):
    """A registered handler. Calling it calls the function, so that authors can test it without a worker."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str,
        options: TaskOptions,
        middleware: Sequence[Middleware] = (),
        isolation: Isolation | None = None,
    ) -> None:
        self.function: Final = function
        self.name: Final = name
        self.options: Final = options
        self.middleware: Final = tuple(middleware)
        self.isolation: Final = isolation
        self.is_async: Final = inspect.iscoroutinefunction(function)
        self.takes_payload: Final = _takes_payload(name, function)
        self.__doc__ = function.__doc__
        self._decode: Callable[[bytes], Any] = _ignore
        self._form = b""
        self._prepared = False

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function itself."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    @property
    def source(self) -> str:
        """Where the function was written, for messages: 'module.function'."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def prepare(self) -> None:
        """Resolves the payload's annotation; raises TaskError if it names something that is not there.

        Done at registration and not in the decorator, where the rest of the author's module does not exist yet.
        """
        if self.takes_payload and not self._prepared:
            annotation = _payload_annotation(self.name, self.function)
            self._decode, self._form = _decoder(self.name, annotation), _form(annotation)
        self._prepared = True

    @property
    def form(self) -> bytes:
        """JSON Schema of the payload its annotation declares; b"" if it declares none. Known once prepared."""
        return self._form

    def decode(self, payload: bytes) -> Any:
        """The payload as the handler's annotation wants it: `bytes` raw, anything else from JSON.

        For tasks of a registry only. Raises BadPayload that says what is wrong and where.
        """
        try:
            return self._decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BadPayload(f"{type(error).__name__}: {error}") from error


def _ignore(_payload: bytes) -> None:
    return None


def _takes_payload(name: str, function: Callable[..., Any]) -> bool:
    """Checks the shape `(ctx)` or `(ctx, payload)`; raises TaskError for any other."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TaskError(f"task '{name}' is a generator: a task returns its result, it cannot yield")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise TaskError(f"task '{name}' cannot be inspected: {error}") from error
    positional = [p for p in parameters if p.kind in _POSITIONAL]
    required = [p for p in positional if p.default is p.empty]
    unfillable = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if not len(positional) >= 1 or len(required) > 2 or unfillable:
        raise TaskError(f"task '{name}' must take (ctx) or (ctx, payload), not {inspect.signature(function)}")
    return len(positional) >= 2


def _payload_annotation(name: str, function: Callable[..., Any]) -> Any:
    """The annotation of the handler's second parameter, resolved; it alone says how the payload is read."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind in _POSITIONAL]
    annotation = parameters[1].annotation
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, inspect.unwrap(function).__globals__)  # noqa: S307 -- the author's own text
        except Exception as error:
            raise TaskError(f"task '{name}': cannot resolve its payload annotation {annotation!r}: {error}") from error
    return Any if annotation in (inspect.Parameter.empty, object) else annotation


def _decoder(name: str, annotation: Any) -> Callable[[bytes], Any]:
    if annotation is bytes:
        return bytes
    try:
        decode: Callable[[bytes], Any] = msgspec.json.Decoder(annotation).decode
    except TypeError as error:
        raise TaskError(f"task '{name}': its payload annotation cannot be read from JSON: {error}") from error
    return decode


def _form(annotation: Any) -> bytes:
    """The annotation as JSON Schema; b"" if it says nothing, or what no schema can say."""
    if annotation in (bytes, Any):
        return b""
    try:
        return msgspec.json.encode(msgspec.json.schema(annotation))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return b""


@overload
def task(function: Callable[P, R], /) -> Task[P, R]: ...
@overload
def task(
    *,
    name: str | None = None,
    max_attempts: int | None = None,
    timeout_s: float | None = None,
    backoff: Backoff | str | None = None,
    backoff_base_s: float | None = None,
    backoff_cap_s: float | None = None,
    middleware: Sequence[Middleware] = (),
    isolate: bool = False,
    memory_mb: int | None = None,
    cpu_s: int | None = None,
) -> Callable[[Callable[P, R]], Task[P, R]]: ...
def task(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    max_attempts: int | None = None,
    timeout_s: float | None = None,
    backoff: Backoff | str | None = None,
    backoff_base_s: float | None = None,
    backoff_cap_s: float | None = None,
    middleware: Sequence[Middleware] = (),
    isolate: bool = False,
    memory_mb: int | None = None,
    cpu_s: int | None = None,
) -> Task[P, R] | Callable[[Callable[P, R]], Task[P, R]]:
    """Makes a function the handler of jobs of type `name` (default: the function's own name).

    The function takes `(ctx, payload)` or `(ctx)`. `async def` runs on the worker's event loop,
    `def` in a thread. The payload's annotation decides how it is read: `bytes` raw, anything else
    JSON converted to that type. What it returns becomes the job's result. Options a job sets itself
    win over these; `max_attempts=0` means without limit. `middleware` surrounds this task, outermost
    first, inside that of its worker. Raises TaskError.

    `isolate=True` runs it in a child process of the worker, `async def` or `def`: one that may crash, leak, or keep
    the interpreter to itself. It must be found by its name there, so it stands at the top of an importable module.
    `memory_mb` is how much one attempt may add to the process (MemoryError beyond it; on Linux), `cpu_s` how many
    seconds of processor time it may use.
    """

    def register(function: Callable[P, R]) -> Task[P, R]:
        title = name if name is not None else getattr(function, "__name__", "")
        if not inspect.isroutine(function) and not isinstance(function, partial):
            raise TaskError(f"@task stands before a function, not before {function!r}")
        if not _NAME.fullmatch(title) or len(title) > MAX_TYPE_BYTES:
            raise TaskError(f"task name {title!r} must be 1 to {MAX_TYPE_BYTES} of A-Z a-z 0-9 . _ : / -")
        _refuse_shadowing(title, function)
        options = TaskOptions(
            max_attempts=max_attempts,
            timeout_ms=_ms(timeout_s),
            backoff=_kind(title, backoff),
            backoff_base_ms=_ms(backoff_base_s),
            backoff_cap_ms=_ms(backoff_cap_s),
        )
        if problems := options.problems():
            raise TaskError(f"task '{title}': {'; '.join(problems)}")
        return Task(
            function,
            name=title,
            options=options,
            middleware=instances_of(f"task '{title}'", middleware),
            isolation=_isolation(title, isolate=isolate, memory_mb=memory_mb, cpu_s=cpu_s),
        )

    return register if function is None else register(function)


def instances_of(owner: str, middleware: Iterable[Middleware]) -> tuple[Middleware, ...]:
    """The middleware of a task or of a registry; raises TaskError, which names the owner, for what is none."""
    given: list[object] = list(middleware)
    for one in given:
        if not isinstance(one, Middleware):
            hint = f"; write {one.__name__}()" if isinstance(one, type) and issubclass(one, Middleware) else ""
            raise TaskError(f"{owner}: middleware takes instances of Middleware, not {one!r}{hint}")
    return tuple(one for one in given if isinstance(one, Middleware))


def _isolation(name: str, *, isolate: object, memory_mb: int | None, cpu_s: int | None) -> Isolation | None:
    if not isinstance(isolate, bool):
        raise TaskError(f"task '{name}': isolate must be True or False, not {isolate!r}")
    if not isolate:
        if memory_mb is not None or cpu_s is not None:
            raise TaskError(f"task '{name}': memory_mb and cpu_s need isolate=True: only a process can be limited")
        return None
    isolation = Isolation(memory_mb=memory_mb, cpu_s=cpu_s)
    if problems := isolation.problems():
        raise TaskError(f"task '{name}': {'; '.join(problems)}")
    return isolation


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _kind(name: str, backoff: Backoff | str | None) -> Backoff | None:
    try:
        return None if backoff is None else Backoff(backoff)
    except ValueError:
        raise TaskError(f"task '{name}': backoff must be one of {', '.join(Backoff)}, not {backoff!r}") from None


def _refuse_shadowing(name: str, function: Callable[..., Any]) -> None:
    """Two functions of one name in a module: Python would drop the first without a word."""
    scope = getattr(function, "__globals__", {})
    earlier = scope.get(getattr(function, "__name__", ""))
    if not isinstance(earlier, Task) or getattr(function, "__qualname__", "") != earlier.function.__qualname__:
        return
    lines = [getattr(getattr(f, "__code__", None), "co_firstlineno", 0) for f in (earlier.function, function)]
    if lines[0] != lines[1]:
        raise TaskError(f"task '{name}' is defined twice in {function.__module__} (lines {lines[0]} and {lines[1]})")


AnyTask = Task[..., Any]
