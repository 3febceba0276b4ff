"""A payload's fields: made of what its task declares, checked one by one, and the same JSON again."""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest

from leaseforge import forms
from leaseforge.store import Store
from leaseforge_console.views.payload_form import MAX_FIELDS, PayloadForm, payload_form, payload_of, texts_of
from tests.console.browsing import Visitor, hidden_fields, words
from tests.console.test_new_job import PATH, job_behind


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Order(msgspec.Struct):
    number: Annotated[int, msgspec.Meta(ge=1, le=10**12)]
    email: Annotated[str, msgspec.Meta(min_length=3, max_length=20, description="Where to write", examples=["a@b.c"])]
    size: Size = Size.SMALL
    share: float | None = None
    is_gift: bool = False
    level: Literal[1, 2] = 1
    lines: list[int] = []


@dataclass
class Plain:
    name: str


class Loose(TypedDict, total=False):
    name: str


def form_for(declared: Any) -> PayloadForm | None:
    return payload_form("work", msgspec.json.encode(msgspec.json.schema(declared)))


def sent(**texts: str) -> dict[str, str]:
    return {f"payload.{name}": text for name, text in texts.items()}


def test_each_member_has_the_field_of_its_kind() -> None:
    form = form_for(Order)

    assert form is not None
    kinds = {one.name: (one.kind, one.required) for one in form.fields}
    assert kinds == {
        "number": ("integer", True),
        "email": ("text", True),
        "size": ("choice", False),
        "share": ("number", False),
        "is_gift": ("boolean", False),
        "level": ("choice", False),
        "lines": ("json", False),
    }
    hints = {one.name: one.hint for one in form.fields}
    assert hints["email"] == "Where to write. As in a@b.c."
    assert hints["size"] == "If empty: small."
    assert form.fields[2].offers == (('"large"', "large"), ('"small"', "small"))


@pytest.mark.parametrize("declared", [Plain, Loose])
def test_dataclasses_and_typed_dicts_have_fields_too(declared: Any) -> None:
    form = form_for(declared)

    assert form is not None
    assert [(one.name, one.kind, one.required) for one in form.fields] == [("name", "text", declared is Plain)]


Wide = msgspec.defstruct("Wide", [(f"f{number}", int) for number in range(MAX_FIELDS + 1)])


@pytest.mark.parametrize("declared", [int, list[int], dict[str, int], Any, Order | None, Wide])
def test_what_is_no_object_of_some_members_is_typed_as_json(declared: Any) -> None:
    found = form_for(declared)

    assert (found is not None) is (declared == Order | None)


@pytest.mark.parametrize(
    "published",
    [
        None,
        b"",
        b"nonsense",
        b"[]",
        b"7",
        b'{"properties": []}',
        b'{"properties": {}}',
        b'{"properties": {"a": {}}, "required": 7}',
        b'{"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}',
        b'{"$ref": "#/$defs/A", "$defs": []}',
        b"[" * 5000,
    ],
)
def test_a_damaged_form_is_none(published: bytes | None) -> None:
    assert payload_form("work", published) is None


def test_a_member_that_says_nonsense_is_typed_as_json() -> None:
    form = payload_form("work", b'{"properties": {"a": 7, "b": {"type": ["x"]}, "c": {"enum": []}}}')

    assert form is not None
    assert {one.kind for one in form.fields} == {"json"}


def test_what_is_typed_becomes_the_payload_and_what_is_empty_is_left_out() -> None:
    form = form_for(Order)
    assert form is not None

    typed = sent(
        number="007", email='  ä"b ', size='"large"', share="-01.50", is_gift="true", lines="[1, 2]", level=" "
    )
    payload, problems = payload_of(form, typed)

    assert problems == {}
    assert '"share": -1.50' in payload
    assert json.loads(payload) == {
        "number": 7,
        "email": '  ä"b ',
        "size": "large",
        "share": -1.5,
        "is_gift": True,
        "lines": [1, 2],
    }
    assert msgspec.json.decode(payload, type=Order).size is Size.LARGE
    again = texts_of(form, payload)
    assert again is not None
    assert payload_of(form, again) == (payload, {})


@pytest.mark.parametrize(
    ("field", "text", "told"),
    [
        ("number", "", "must be given"),
        ("number", "1.0", "must be a whole number"),
        ("number", "\N{SUPERSCRIPT TWO}", "must be a whole number"),
        ("number", "0", "must be 1 at least"),
        ("number", "9" * 30, "must be 1e+12 at most"),
        ("number", "9" * 31, "must be a whole number"),
        ("email", "ab", "must be 3 characters at least"),
        ("email", "x" * 21, "must be 20 characters at most"),
        ("share", "NaN", "must be a number"),
        ("share", "1e999", "is too large"),
        ("size", "small", "must be one of those on offer"),
        ("is_gift", "yes", "must be true or false"),
        ("lines", "[1", "is no JSON"),
        ("level", "3", "must be one of those on offer"),
    ],
)
def test_what_is_wrong_is_said_of_its_field(field: str, text: str, told: str) -> None:
    form = form_for(Order)
    assert form is not None

    payload, problems = payload_of(form, sent(number="1", email="a@b") | sent(**{field: text}))

    assert payload == ""
    assert list(problems) == [f"payload.{field}"]
    assert problems[f"payload.{field}"].startswith(told)


@pytest.mark.parametrize(
    "payload",
    [
        "[]",
        "{",
        '{"other": 1}',
        '{"email": 7}',
        '{"email": "two\\nlines"}',
        '{"email": ""}',
        '{"number": "7"}',
        '{"number": null}',
        '{"size": "huge"}',
    ],
)
def test_a_payload_its_fields_could_not_show_whole_stays_json(payload: str) -> None:
    form = form_for(Order)
    assert form is not None

    assert texts_of(form, payload) is None


async def declared(store: Store) -> None:
    await store.run(forms.publish({"order": msgspec.json.encode(msgspec.json.schema(Order))}))


async def test_a_declared_type_is_asked_for_field_by_field(operator: Visitor, store: Store) -> None:
    await declared(store)
    page = (await operator.get(f"{PATH}?type=order&queue=mail")).text
    form = hidden_fields(page, PATH) | {"queue": "mail", "type": "order"}

    wrong = await operator.post(PATH, form | sent(number="x", email="ada@example.org"))
    right = await operator.post(PATH, form | sent(number="17", email="ada@example.org", is_gift="true"))

    assert 'name="payload.email"' in page
    assert 'name="payload"' not in page
    assert wrong.status_code == 422
    assert "must be a whole number" in words(wrong.text)
    assert 'value="ada@example.org"' in wrong.text
    job = await job_behind(store, right)
    assert json.loads(job.payload or b"") == {"number": 17, "email": "ada@example.org", "is_gift": True}


async def test_fields_and_json_lead_to_each_other_and_lose_nothing(operator: Visitor, store: Store) -> None:
    await declared(store)
    blank = hidden_fields((await operator.get(PATH)).text, PATH)
    typed = {"queue": "mail", "type": "order", "payload": '{"number": 5, "email": "a@b.c"}'}

    fields = (await operator.post(PATH, blank | typed | {"does": "fields"})).text
    as_json = (
        await operator.post(PATH, hidden_fields(fields, PATH) | typed | sent(number="6") | {"does": "json"})
    ).text
    unknown = await operator.post(PATH, blank | typed | {"type": "echo", "does": "fields"})
    odd = await operator.post(PATH, blank | typed | {"payload": '{"more": 1}', "does": "fields"})

    assert re_value(fields, "payload.number") == "5"
    assert re_value(fields, "payload.email") == "a@b.c"
    assert "Some fields were left out" in words(as_json)
    assert "No worker has said" in words(unknown.text)
    assert "It holds what has no field" in words(odd.text)
    assert "&#34;more&#34;: 1" in odd.text


async def test_another_type_than_the_fields_are_of_is_asked_about(operator: Visitor, store: Store) -> None:
    await declared(store)
    form = hidden_fields((await operator.get(f"{PATH}?type=order")).text, PATH)

    answer = await operator.post(PATH, form | {"queue": "mail", "type": "echo"} | sent(number="1", email="a@b"))

    assert answer.status_code == 409
    assert "The type is another one" in words(answer.text)
    assert "&#34;number&#34;: 1" in answer.text


async def test_hostile_forms_stay_text(operator: Visitor, store: Store) -> None:
    evil = "<script>alert(1)</script>"
    member = {"type": "string", "description": evil, "default": evil, "examples": [evil]}
    choices = {"enum": [evil, {"a": evil}]}
    await store.run(forms.publish({"order": json.dumps({"properties": {evil: member, "b": choices}}).encode()}))

    page = (await operator.get(f"{PATH}?type=order")).text

    assert evil not in page
    assert "alert(1)" in page


def re_value(page: str, name: str) -> str:
    return page.split(f'name="{name}"')[1].split('value="')[1].split('"')[0]
