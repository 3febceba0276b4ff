"""The fields of a payload, by the JSON Schema its task declares; and the JSON that what was typed comes to.

Texts, numbers, choices and yes-or-no have fields of their own; whatever else a payload holds is typed as JSON. What is
left empty is left out, so that the task's own default holds.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from leaseforge_console.json_text import fault_in, pretty

MAX_FIELDS = 40
MAX_CHOICES = 100
_PREFIX = "payload."
_WHOLE = re.compile(r"[+-]?\d{1,30}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d{1,30})(\.\d{1,30})?([eE][+-]?\d{1,3})?", re.ASCII)
_MOST_REFERENCES = 5
_KINDS: Mapping[str, Literal["text", "integer", "number", "boolean"]] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}

Kind = Literal["text", "integer", "number", "boolean", "choice", "json"]


@dataclass(frozen=True, slots=True)
class Field:
    """One member of the payload. `sent_as` is its name in the form; `choices` are JSON values as texts.

    `low` and `high` bound numbers, `shortest` and `longest` the characters of a text.
    """

    name: str
    sent_as: str
    id: str
    kind: Kind
    required: bool
    hint: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    shortest: int | None = None
    longest: int | None = None
    value: str = ""
    problem: str = ""

    @property
    def offers(self) -> tuple[tuple[str, str], ...]:
        """What can be chosen, as JSON and in words."""
        given = ("true", "false") if self.kind == "boolean" else self.choices
        return tuple((one, _plain(msgspec.json.decode(one))) for one in given)


@dataclass(frozen=True, slots=True)
class PayloadForm:
    """The fields of a type's payload, in the order its author gave them."""

    type: str
    fields: tuple[Field, ...]

    def filled(self, texts: Mapping[str, str], problems: Mapping[str, str]) -> "PayloadForm":
        """The same with what was typed, and what is wrong with it."""
        return replace(
            self,
            fields=tuple(
                replace(one, value=texts.get(one.sent_as, ""), problem=problems.get(one.sent_as, ""))
                for one in self.fields
            ),
        )


def payload_form(job_type: str, published: bytes | None) -> PayloadForm | None:
    """The form a published schema comes to; None where only JSON can say what the payload is."""
    try:
        schema = msgspec.json.decode(published or b"null")
    except (msgspec.DecodeError, RecursionError):
        return None
    defs = schema.get("$defs") if isinstance(schema, dict) else None
    defs = defs if isinstance(defs, dict) else {}
    top = _resolved(schema, defs)
    members, required = top.get("properties"), top.get("required", [])
    if not isinstance(members, dict) or not 0 < len(members) <= MAX_FIELDS or not isinstance(required, list):
        return None
    fields = (
        _field(number, name, _resolved(member, defs), is_required=name in required)
        for number, (name, member) in enumerate(members.items())
    )
    return PayloadForm(job_type, tuple(fields))


def payload_of(form: PayloadForm, texts: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The payload as JSON, and what is wrong, by the fields' names in the form."""
    parts: list[str] = []
    problems: dict[str, str] = {}
    for one in form.fields:
        text = texts.get(one.sent_as, "")
        if not text.strip():
            if one.required:
                problems[one.sent_as] = "must be given"
            continue
        written, problem = _written(one, text)
        if problem:
            problems[one.sent_as] = problem
        parts.append(f"{_json(one.name)}:{written}")
    return ("" if problems else pretty("{" + ",".join(parts) + "}")), problems


def texts_of(form: PayloadForm, payload: str) -> dict[str, str] | None:
    """What the fields show of a payload; None where they could not show all of it."""
    if fault_in(payload) is not None:
        return None
    try:
        members = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError):
        return None
    by_name = {one.name: one for one in form.fields}
    texts = {}
    for name, raw in members.items():
        one = by_name.get(name)
        text = _shown(one, bytes(raw).decode().strip()) if one is not None else None
        if one is None or text is None or not text.strip() or _written(one, text)[1]:
            return None
        texts[one.sent_as] = text
    return texts


def _field(number: int, name: str, member: Mapping[str, Any], *, is_required: bool) -> Field:
    one = Field(name, f"{_PREFIX}{name}", f"payload-{number}", "json", is_required, "")
    choices = member.get("enum")
    if isinstance(choices, list) and 0 < len(choices) <= MAX_CHOICES:
        one = replace(one, kind="choice", choices=tuple(_json(choice) for choice in choices))
    elif kind := _KINDS.get(str(member.get("type"))):
        one = replace(
            one,
            kind=kind,
            low=_bound(member.get("minimum")),
            high=_bound(member.get("maximum")),
            shortest=_size(member.get("minLength")),
            longest=_size(member.get("maxLength")),
        )
    return replace(one, hint=" ".join(_hints(one, member)))


def _hints(one: Field, member: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(said := member.get("description"), str) and said.strip():
        yield said.strip()[:300].rstrip(".") + "."
    if one.kind == "json":
        yield "As JSON."
    if isinstance(format_ := member.get("format"), str):
        yield f"A {format_[:30]}."
    if isinstance(given := member.get("examples"), list) and given:
        yield f"As in {_plain(given[0])}."
    if "default" in member:
        yield f"If empty: {_plain(member['default'])}."
    elif not one.required:
        yield "May be empty."


def _written(one: Field, text: str) -> tuple[str, str]:
    """What was typed as JSON, and what is wrong with it."""
    match one.kind:
        case "text":
            if one.longest is not None and len(text) > one.longest:
                return "", f"must be {one.longest:,} characters at most"
            if one.shortest is not None and len(text) < one.shortest:
                return "", f"must be {one.shortest:,} characters at least"
            return _json(text), ""
        case "integer" | "number":
            return _number(one, text.strip())
        case "boolean":
            return text, "" if text in ("true", "false") else "must be true or false"
        case "choice":
            return text, "" if text in one.choices else "must be one of those on offer"
        case "json":
            fault = fault_in(text)
            return text, f"is no JSON: {fault}" if fault else ""


def _number(one: Field, text: str) -> tuple[str, str]:
    if not (_WHOLE if one.kind == "integer" else _NUMBER).fullmatch(text):
        return "", "must be a whole number" if one.kind == "integer" else "must be a number, as in 12 or 0.5"
    value = float(text)
    if not math.isfinite(value):
        return "", "is too large"
    if one.low is not None and value < one.low:
        return "", f"must be {one.low:g} at least"
    if one.high is not None and value > one.high:
        return "", f"must be {one.high:g} at most"
    # As it was typed, but for what JSON does not take: a number of many digits stays what it is.
    sign, digits = ("-" if text.startswith("-") else ""), text.lstrip("+-")
    whole, rest = re.match(r"(\d+)(.*)", digits).groups()  # type: ignore[union-attr]  # it has matched above
    return f"{sign}{whole.lstrip('0') or '0'}{rest}", ""


def _shown(one: Field, raw: str) -> str | None:
    """A value as its field shows it; None for one that is not of the field's kind."""
    match one.kind:
        case "text":
            text = msgspec.json.decode(raw) if raw.startswith('"') else None
            return text if text is not None and text.isprintable() else None
        case "json":
            return pretty(raw)
        case _:
            return raw


def _resolved(member: Any, defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """A member's schema without references, and without the null that says it may be left out."""
    found: dict[str, Any] = {}
    for _ in range(_MOST_REFERENCES):
        if not isinstance(member, dict):
            return {}
        found = {**member, **found}
        options = member.get("anyOf")
        real = [one for one in options if one != {"type": "null"}] if isinstance(options, list) else []
        if len(real) == 1:
            member = real[0]
        elif isinstance(reference := member.get("$ref"), str):
            member = defs.get(reference.removeprefix("#/$defs/"))
        else:
            break
    return found


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _plain(value: Any) -> str:
    return value[:100] if isinstance(value, str) and value else _json(value)[:100]


def _bound(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
