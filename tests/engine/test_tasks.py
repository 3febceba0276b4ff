"""Registering handlers: names, signatures, options, payload annotations."""

import dataclasses
import functools
from typing import Any

import msgspec
import pytest

from leaseforge.context import Context
from leaseforge.jobs import Backoff, Options
from leaseforge.policies import Policy, TaskOptions
from leaseforge.registry import Registry
from leaseforge.tasks import BadPayload, Task, TaskError, task


class Mail(msgspec.Struct):
    to: str
    copies: int = 1


def decoder_of(handler: Task[..., Any]) -> Task[..., Any]:
    Registry([handler])
    return handler


def test_a_bare_decorator_takes_the_functions_name() -> None:
    @task
    async def send_email(ctx: Context, payload: Mail) -> str:
        """Sends one mail."""
        return payload.to

    assert send_email.name == "send_email"
    assert send_email.is_async
    assert send_email.takes_payload
    assert send_email.options == TaskOptions()
    assert send_email.__doc__ == "Sends one mail."


async def test_a_task_can_be_called_like_the_function_it_is() -> None:
    @task(name="mail.send")
    async def send(ctx: Context, payload: Mail) -> str:
        return f"{payload.to} x{payload.copies}"

    assert await send(None, Mail("ada", 2)) == "ada x2"  # type: ignore[arg-type] # the handler ignores its context


def test_options_are_kept_in_milliseconds() -> None:
    @task(name="t", max_attempts=5, timeout_s=1.5, backoff="fixed", backoff_base_s=0.25, backoff_cap_s=10)
    def handler(ctx: Context) -> None: ...

    assert handler.options == TaskOptions(5, 1500, Backoff.FIXED, 250, 10_000)
    assert not handler.is_async
    assert not handler.takes_payload


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"max_attempts": -1}, "max_attempts"),
        ({"max_attempts": 10_001}, "max_attempts"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": -2}, "timeout_s"),
        ({"backoff": "linear"}, "backoff"),
        ({"backoff_base_s": -1}, "backoff_base_s"),
        ({"backoff_cap_s": 1e9}, "backoff_cap_s"),
        ({"name": ""}, "name"),
        ({"name": "has space"}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"name": "über"}, "name"),
    ],
)
def test_options_out_of_range_are_refused_by_name(options: dict[str, Any], word: str) -> None:
    with pytest.raises(TaskError, match=word):

        @task(**options)
        def handler(ctx: Context) -> None: ...


def test_all_wrong_options_are_told_at_once() -> None:
    with pytest.raises(TaskError, match=r"task 'both'.*max_attempts.*timeout_s"):

        @task(name="both", max_attempts=-1, timeout_s=0)
        def handler(ctx: Context) -> None: ...


def test_signatures_that_cannot_be_called_are_refused() -> None:
    def none() -> None: ...
    def three(a: Any, b: Any, c: Any) -> None: ...
    def keyword(ctx: Context, payload: Any, *, mode: str) -> None: ...
    def stars(**everything: Any) -> None: ...

    for function in (none, three, keyword, stars):
        with pytest.raises(TaskError, match=rf"task '{function.__name__}' must take \(ctx\) or \(ctx, payload\)"):
            task(function)


def test_signatures_with_defaults_are_fine() -> None:
    def more(ctx: Context, payload: Any, extra: int = 3, *, mode: str = "fast") -> None: ...

    assert task(more).takes_payload


def test_generators_and_things_that_are_no_functions_are_refused() -> None:
    def generator(ctx: Context) -> Any:
        yield 1

    async def stream(ctx: Context) -> Any:
        yield 1

    for function in (generator, stream):
        with pytest.raises(TaskError, match="generator"):
            task(function)
    things: list[Any] = [42, Mail, "send"]
    for thing in things:
        with pytest.raises(TaskError, match="before a function"):
            task(thing)


def test_a_decorated_task_is_not_decorated_twice() -> None:
    @task
    def once(ctx: Context) -> None: ...

    with pytest.raises(TaskError, match="before a function"):
        task(once)


def test_a_partial_needs_a_name() -> None:
    def resize(size: int, ctx: Context, payload: Any) -> int:
        return size

    with pytest.raises(TaskError, match="task name"):
        task(functools.partial(resize, 3))

    assert task(name="small")(functools.partial(resize, 3)).takes_payload


def test_two_tasks_of_one_name_are_refused_and_both_places_named() -> None:
    @task(name="same")
    def first(ctx: Context) -> None: ...
    @task(name="same")
    def second(ctx: Context) -> None: ...

    with pytest.raises(TaskError, match=r"two tasks are named 'same': .*first and .*second"):
        Registry([first, second])


def test_the_same_task_may_be_added_again() -> None:
    @task
    def only(ctx: Context) -> None: ...

    registry = Registry([only, only])

    assert registry.names() == ("only",)
    assert registry.get("only") is only
    assert registry.get("other") is None
    assert len(registry) == 1
    assert "only" in registry


def test_a_second_function_of_one_name_in_a_module_is_refused() -> None:
    source = "from leaseforge.tasks import task\n@task\ndef send(ctx): ...\n@task(name='other')\ndef send(ctx): ...\n"

    with pytest.raises(TaskError, match=r"task 'other' is defined twice .*lines 2 and 4"):
        exec(compile(source, "mytasks.py", "exec"), {"__name__": "mytasks"})


def test_bytes_reach_the_handler_raw_and_all_else_is_json() -> None:
    @task
    def raw(ctx: Context, payload: bytes) -> None: ...
    @task
    def untyped(ctx, payload) -> None: ...  # type: ignore[no-untyped-def] # noqa: ANN001 - authors may leave them out
    @task
    def typed(ctx: Context, payload: Mail) -> None: ...
    @task
    def mapping(ctx: Context, payload: dict[str, int]) -> None: ...

    assert decoder_of(raw).decode(b"\x00\xff") == b"\x00\xff"
    assert decoder_of(untyped).decode(b'{"a": [1, 9007199254740993]}') == {"a": [1, 9007199254740993]}
    assert decoder_of(typed).decode(b'{"to": "ada"}') == Mail("ada")
    assert decoder_of(mapping).decode(b'{"a": 1}') == {"a": 1}


@dataclasses.dataclass
class Order:
    number: int


def test_annotations_written_as_text_are_resolved_in_the_authors_module() -> None:
    @task
    def typed(ctx: "NotImported", payload: "Order") -> None: ...  # type: ignore[name-defined] # noqa: F821

    assert decoder_of(typed).decode(b'{"number": 3}') == Order(3)


def test_annotations_that_name_nothing_are_refused_at_registration() -> None:
    @task
    def lost(ctx: Context, payload: "Nowhere") -> None: ...  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(TaskError, match=r"task 'lost': cannot resolve its payload annotation 'Nowhere'"):
        Registry([lost])


@pytest.mark.parametrize(
    "payload", [b"", b"{", b'{"copies": 1}', b'{"to": 5}', b"[" * 100_000, b'{"to": "\xff"}', b"null"]
)
def test_payloads_of_another_shape_are_bad(payload: bytes) -> None:
    @task
    def typed(ctx: Context, payload: Mail) -> None: ...

    with pytest.raises(BadPayload):
        decoder_of(typed).decode(payload)


def test_a_bad_payloads_message_says_where_but_not_what() -> None:
    @task
    def typed(ctx: Context, payload: Mail) -> None: ...

    with pytest.raises(BadPayload, match=r"\$\.copies") as refused:
        decoder_of(typed).decode(b'{"to": "ada", "copies": "secret"}')

    assert "secret" not in str(refused.value)


def test_a_jobs_own_options_win_over_its_tasks_and_those_over_the_defaults() -> None:
    defaults = Policy()

    policy = defaults.overlaid(TaskOptions(max_attempts=5, timeout_ms=900)).overlaid(Options(max_attempts=0))

    assert policy == Policy(max_attempts=0, timeout_ms=900)
    assert defaults == Policy(3, None, Backoff.EXPONENTIAL, 1_000, 60_000)


def test_a_declared_payload_is_told_as_json_schema() -> None:
    @task
    async def declares(ctx: Context, payload: Mail) -> None: ...

    @task
    async def raw(ctx: Context, payload: bytes) -> None: ...

    @task
    async def anything(ctx: Context, payload: Any) -> None: ...

    @task
    async def nothing(ctx: Context) -> None: ...

    told = Registry([declares, raw, anything, nothing]).forms()

    assert (told["raw"], told["anything"], told["nothing"]) == (b"", b"", b"")
    schema = msgspec.json.decode(told["declares"])["$defs"]["Mail"]
    assert schema["properties"] == {"to": {"type": "string"}, "copies": {"type": "integer", "default": 1}}
    assert schema["required"] == ["to"]


def test_a_payload_no_schema_can_tell_has_no_form_and_is_read_all_the_same() -> None:
    class Odd(msgspec.Struct):
        to: str
        at: complex = 1j

    @task
    async def odd(ctx: Context, payload: Odd) -> None: ...

    assert Registry([odd]).forms() == {"odd": b""}
    assert odd.decode(b'{"to": "x"}').to == "x"
