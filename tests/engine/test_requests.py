"""What a producer may ask for, and what is refused with the field's name before anything is sent."""

import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from leaseforge import limits
from leaseforge.errors import BadInput, PayloadTooLarge
from leaseforge.jobs import Backoff, NewJob, Options
from leaseforge.requests import BYTES, JSON, checked, is_job_id, new_job

SOON = datetime.now(UTC) + timedelta(hours=1)
TRACEPARENT = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


WRITTEN = (
    "\U0001f469\U0001f3fd\u200d\u2695\ufe0f \U0001f3f3\ufe0f\u200d\U0001f308 1\ufe0f\u20e3",  # emoji
    "\u203c\ufe0f \u2139\ufe0f \u2194\ufe0f \u26f9\ufe0f\u200d\u2642\ufe0f \u2764\ufe0f\u200d\U0001f525",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian
    "\u0d15\u0d4d\u200d \u0915\u094d\u200c\u0937",  # Malayalam, Hindi
    "\u05d0\u05d1 \u0623\u0628 \u0e01\u0e34 \uac00 \u4e2d e\u0301",
)
"""What joins and parts letters and emoji where people write it."""


@dataclass
class Order:
    number: int


def of_kind(value: object) -> str:
    """A name that is the same in each run: several processes share the tests by their names."""
    return value if isinstance(value, str) and value.isidentifier() and len(value) < 30 else type(value).__name__


@pytest.mark.parametrize(
    ("payload", "body", "content_type"),
    [
        (None, b"null", JSON),
        ({"a": [1, 2.5, "é", None, True]}, '{"a":[1,2.5,"é",null,true]}'.encode(), JSON),
        (Order(7), b'{"number":7}', JSON),
        (2**63, b"9223372036854775808", JSON),
        ("", b'""', JSON),
        (b"", b"", BYTES),
        (b"\x00\xff", b"\x00\xff", BYTES),
        (bytearray(b"x"), b"x", BYTES),
        (memoryview(b"x"), b"x", BYTES),
        (msgspec.Raw(b'{"kept": "as it is" }'), b'{"kept": "as it is" }', JSON),
    ],
    ids=of_kind,
)
def test_bytes_travel_as_they_are_and_the_rest_as_json(payload: Any, body: bytes, content_type: str) -> None:
    job = new_job("work", payload)

    assert (job.payload, job.content_type) == (body, content_type)


def test_a_job_gets_an_id_of_its_own() -> None:
    first, second = new_job("work"), new_job("work")

    assert first.id != second.id
    assert uuid.UUID(first.id).version == 4
    assert (first.queue, first.priority, first.options) == ("default", 0, Options())


@pytest.mark.parametrize(
    "fields",
    [
        {"queue": "a"},
        {"queue": "A.b_c-9" * 9},
        {"priority": limits.MIN_PRIORITY},
        {"priority": limits.MAX_PRIORITY},
        {"delay_ms": 0},
        {"delay_ms": limits.MAX_DELAY_MS},
        {"at": SOON},
        {"at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))},
        {"id": "00000000-0000-0000-0000-000000000000"},
        {"idempotency_key": "k" * limits.MAX_KEY_BYTES},
        {"idempotency_key": "schlüssel {}"},
        {"max_attempts": 0},
        {"max_attempts": limits.MAX_ATTEMPTS},
        {"timeout_ms": 1},
        {"timeout_ms": limits.MAX_TIMEOUT_MS},
        {"backoff": "fixed"},
        {"backoff": Backoff.EXPONENTIAL, "backoff_base_ms": 0, "backoff_cap_ms": limits.MAX_BACKOFF_MS},
        {"tags": ["x" * limits.MAX_TAG_BYTES] * limits.MAX_TAGS},
        {"content_type": "text/plain; charset=utf-8"},
        {"traceparent": TRACEPARENT},
        {"created_by": "ops@example.com"},
        {"idempotency_key": "\u202e\x85\u200b"},  # no person reads it
        {"type": "😀" * 32},
        *({"type": text} for text in WRITTEN),
        {"tags": WRITTEN},
    ],
    ids=of_kind,
)
def test_what_is_within_its_bounds_is_accepted(fields: dict[str, Any]) -> None:
    job = new_job(**{"type": "work"} | fields)

    assert checked(job) is job


NEVER = object()
UNSEEN = (
    *("a\x85b", "\x9b31m", "a\u2028b", "a\u2029"),  # controls, ends of lines
    *("\u202egnp.exe", "\u2066a", "a\u200f", "\u061ca"),  # what turns others around
    *("pay\u200bment", "\ufeffa", "a\u00adb", "a\u2060b", "\u3164", "a\u034fb", "a\U000e0041"),  # without a shape
    *(
        "a\u200db",
        "\u200d",
        "b\u200c",
        "\u043e\u200d\u043f",
        "\u4e2d\u200c\u6587",
        "a\ufe0f",
        "\u2605\u200d\u2605",
        "!\ufe0f",
    ),  # where nothing is joined
    *("a\u2800b", "a\U00013430b"),  # blank, or for hieroglyphs only
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("queue", name) for name in ("", "a b", "a/b", "{a}", "ä", "a\n", "a\x00", "sys", "x" * 65, None, 7, b"a")),
        *(("type", text) for text in ("", "a\nb", "\x7f", "\ud800", "x" * (limits.MAX_TYPE_BYTES + 1), "é" * 65, None)),
        *(("priority", n) for n in (limits.MIN_PRIORITY - 1, limits.MAX_PRIORITY + 1, 1.0, "1", True, None)),
        *(("delay_ms", n) for n in (-1, limits.MAX_DELAY_MS + 1, 0.5, "5", None)),
        ("at", datetime(2030, 1, 1)),  # without a zone on purpose
        ("at", datetime.now(UTC) + timedelta(days=3700)),
        ("at", datetime.max.replace(tzinfo=UTC)),
        ("at", "2030-01-01T00:00:00Z"),
        *(("id", text) for text in ("", "7", str(uuid.uuid4()).upper(), uuid.uuid4().hex, "x" * 36, 7)),
        *(("idempotency_key", text) for text in ("", "a\tb", "k" * (limits.MAX_KEY_BYTES + 1), 7)),
        *(("max_attempts", n) for n in (-1, limits.MAX_ATTEMPTS + 1, "3", True)),
        *(("timeout_ms", n) for n in (0, -1, limits.MAX_TIMEOUT_MS + 1)),
        *(("backoff", kind) for kind in ("linear", "", 7)),
        *(("backoff_base_ms", n) for n in (-1, limits.MAX_BACKOFF_MS + 1)),
        ("backoff_cap_ms", -1),
        *(("tags", tags) for tags in ("mail", ("a", ""), ["x" * 65], ("a",) * 17, ("a", 7), {"a": 1}, 7, None)),
        *(("content_type", text) for text in ("text\r\nx", "x" * 65, 7)),
        *(("traceparent", text) for text in ("", "00-zz", TRACEPARENT.upper(), TRACEPARENT + "-x", 7)),
        *(("created_by", text) for text in ("", "a\x00b", "x" * 257)),
        *(("type", text) for text in UNSEEN),
        *(("tags", ["seen", text]) for text in UNSEEN),
        *((field, "a\u200bb") for field in ("unique_key", "created_by", "content_type")),
        ("payload", float("nan")),
        ("payload", {"deep": [{"er": (1, float("-inf"))}]}),
        ("payload", {"text": "\ud800"}),
        ("payload", NEVER),
        ("payload", {(1, 2): 3}),
    ],
    ids=of_kind,
)
def test_what_breaks_a_rule_is_refused_by_the_fields_name(field: str, value: Any) -> None:
    with pytest.raises(BadInput) as refused:
        new_job(**{"type": "work", field: value})

    assert [problem.field for problem in refused.value.problems] == [field]


def test_every_broken_rule_is_told_at_once() -> None:
    with pytest.raises(BadInput) as refused:
        new_job("", queue="a b", priority=2**40, delay_ms=-1, tags=["", "ok"], max_attempts=-1)

    told = {problem.field for problem in refused.value.problems}
    assert told == {"type", "queue", "priority", "delay_ms", "tags", "max_attempts"}


def test_a_delay_and_an_instant_exclude_each_other() -> None:
    with pytest.raises(BadInput, match="excludes a delay"):
        new_job("work", at=SOON, delay_ms=1)


def test_json_nested_beyond_reason_is_refused() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]

    with pytest.raises(BadInput, match="payload"):
        new_job("work", nested)
    while nested:  # taken apart by hand: freeing it recursively is what Python cannot do either
        nested = nested.pop()


@pytest.mark.parametrize(
    "payload", [bytes(limits.MAX_PAYLOAD_BYTES), "x" * (limits.MAX_PAYLOAD_BYTES - 2)], ids=["bytes", "text"]
)
def test_a_payload_of_exactly_the_limit_is_accepted(payload: Any) -> None:
    assert len(new_job("work", payload).payload) == limits.MAX_PAYLOAD_BYTES


@pytest.mark.parametrize(
    "payload", [bytes(limits.MAX_PAYLOAD_BYTES + 1), "x" * (limits.MAX_PAYLOAD_BYTES - 1)], ids=["bytes", "text"]
)
def test_a_payload_over_the_limit_is_refused_with_its_size(payload: Any) -> None:
    with pytest.raises(PayloadTooLarge, match="1,048,577 bytes; at most 1,048,576"):
        new_job("work", payload)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("payload", "text"),
        ("tags", ["a"]),
        ("options", Options(backoff="linear")),  # type: ignore[arg-type]  # what a careless caller does
        ("traceparent", "x"),
        ("id", "x"),
    ],
    ids=of_kind,
)
def test_a_request_put_together_by_hand_is_checked_too(field: str, value: Any) -> None:
    job = replace(NewJob(id=str(uuid.uuid4()), type="work", payload=b""), **{field: value})

    with pytest.raises(BadInput):
        checked(job)


@pytest.mark.parametrize("text", ["", "x", "0" * 36, None, 7, "{00000000-0000-0000-0000-000000000000}"])
def test_a_job_id_is_a_lower_case_uuid(text: object) -> None:
    assert not is_job_id(text)


def test_options_are_stored_compactly_and_read_back() -> None:
    options = Options(3, 5000, Backoff.FIXED, 10, 20)

    assert Options.decode(options.encode()) == options
    assert Options().encode() == ""
    assert Options.decode(None) == Options.decode(b"\xff") == Options.decode('{"m":"x"}') == Options()
