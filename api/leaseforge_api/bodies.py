"""Request bodies: strict JSON into the request's own types, with every problem named at once."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from litestar.dto import AbstractDTO
from litestar.openapi.spec import Reference, Schema
from litestar.typing import FieldDefinition

from leaseforge.errors import BadInput, FieldProblem
from leaseforge.json_depth import MAX_DEPTH
from leaseforge_api.errors import UnsupportedContentType

T = TypeVar("T")

ENVELOPE_BYTES = 64 * 1024
"""What a request may carry around its payload: type, queue, tags."""
MAX_BODY_BYTES = 1024 * 1024 + ENVELOPE_BYTES
MAX_BULK_BODY_BYTES = 16 * 1024 * 1024
MAX_PROBLEMS = 100

_NO_CHOICE = "Invalid enum value "
_PLACE = re.compile(r"^(?P<message>.*?)(?: - at `(?P<place>.*)`)?$", re.DOTALL)


class JsonBody(AbstractDTO[T]):
    """Reads a handler's `data` with `read_json`, so that a payload arrives as the very bytes that were sent."""

    def decode_bytes(self, value: bytes) -> T:
        """The body as the handler's type. Raises UnsupportedContentType and BadInput."""
        check_content_type(self.asgi_connection.headers.get("content-type", ""))
        return read_json(value, self.model_type)

    @classmethod
    def generate_field_definitions(cls, model_type: type[Any]) -> Any:
        """Not used: no transfer model is generated."""
        return iter(())

    @classmethod
    def detect_nested_field(cls, field_definition: FieldDefinition) -> bool:
        """Not used: no transfer model is generated."""
        return False

    @classmethod
    def is_supported_model_type_field(cls, field_definition: FieldDefinition) -> bool:
        """Only request bodies: answers are encoded as they are."""
        return False

    @classmethod
    def create_for_field_definition(
        cls, field_definition: FieldDefinition, handler_id: str, backend_cls: Any = None
    ) -> None:
        """No transfer model is needed."""

    @classmethod
    def create_openapi_schema(
        cls, field_definition: FieldDefinition, handler_id: str, schema_creator: Any
    ) -> Reference | Schema:
        """The documented body is the handler's type itself."""
        schema: Reference | Schema = schema_creator.for_field_definition(field_definition)
        return schema


def check_content_type(value: str) -> None:
    """Refuse a body that is not declared as JSON: browsers send other types across sites without asking first."""
    media_type, _, parameters = value.partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if media_type.strip().lower() != "application/json" or charset not in ("", "utf-8"):
        raise UnsupportedContentType(value)


def read_json(body: bytes, model: type[T]) -> T:
    """The body as `model`. Raises BadInput: malformed, wrong types, unknown fields (each is named)."""
    try:
        body.decode()
        return msgspec.json.decode(body, type=model)
    except UnicodeDecodeError as error:
        raise _bad("", "the body is not valid UTF-8") from error
    except RecursionError as error:
        raise _bad("", f"the JSON is nested deeper than {MAX_DEPTH} levels") from error
    except msgspec.ValidationError as error:
        raise BadInput(_all_problems(body, model) or [_problem("", error)]) from error
    except msgspec.DecodeError as error:
        raise _bad("", f"the body is not JSON: {error}") from error


def _all_problems(body: bytes, model: type[Any]) -> list[FieldProblem]:
    """All problems of a body of which the decoder has seen only the part before the first."""
    try:
        return _problems(body, model)
    except RecursionError:
        return [FieldProblem("", f"the JSON is nested deeper than {MAX_DEPTH} levels")]
    except msgspec.DecodeError as error:
        return [FieldProblem("", f"the body is not JSON: {error}")]


def _problems(body: bytes, model: type[Any], prefix: str = "") -> list[FieldProblem]:
    """Every unknown, missing and wrong field of an object: the decoder itself stops at the first."""
    try:
        given = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return [FieldProblem(prefix.rstrip("."), "must be a JSON object")]
    fields = {field.encode_name: field for field in msgspec.structs.fields(model)}
    problems = [FieldProblem(prefix + name, "is not a known field") for name in given if name not in fields]
    for name, field in fields.items():
        if name not in given:
            if field.required:
                problems.append(FieldProblem(prefix + name, "is required"))
            continue
        if (items := _list_of_structs(field.type)) is not None:
            problems += _problems_of_items(bytes(given[name]), items, prefix + name)
            continue
        try:
            msgspec.json.decode(given[name], type=field.type)
        except msgspec.ValidationError as error:
            inner = _struct_in(field.type)
            if inner is not None and bytes(given[name]).startswith(b"{"):
                problems += _problems(bytes(given[name]), inner, f"{prefix}{name}.")
            else:
                problems.append(_problem(prefix + name, error, field.type))
    return problems[:MAX_PROBLEMS]


def _problems_of_items(raw: bytes, model: type[Any], name: str) -> list[FieldProblem]:
    try:
        items = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except msgspec.ValidationError as error:
        return [_problem(name, error)]
    problems: list[FieldProblem] = []
    for index, item in enumerate(items):
        if len(problems) >= MAX_PROBLEMS:
            break
        try:
            msgspec.json.decode(item, type=model)
        except msgspec.ValidationError:
            problems += _problems(bytes(item), model, f"{name}[{index}].")
    return problems


def _list_of_structs(annotation: Any) -> type[msgspec.Struct] | None:
    """The Struct in `list[Struct]`, None for any other type."""
    bare = annotation.__origin__ if get_origin(annotation) is Annotated else annotation
    if get_origin(bare) is not list:
        return None
    (item,) = get_args(bare)
    return item if isinstance(item, type) and issubclass(item, msgspec.Struct) else None


def _struct_in(annotation: Any) -> type[msgspec.Struct] | None:
    """The Struct a field holds, if it holds one (`Struct | None`)."""
    for part in get_args(annotation) or (annotation,):
        if isinstance(part, type) and issubclass(part, msgspec.Struct):
            return part
    return None


def _choices(annotation: Any) -> Iterator[str]:
    """The values of every enumeration in a field's type."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from (str(one.value) for one in annotation)
    for part in get_args(annotation):
        yield from _choices(part)


def _problem(field: str, error: msgspec.ValidationError, annotation: Any = None) -> FieldProblem:
    """The decoder's message in our words: `Expected `int`, got `str` - at `$.a`` -> a: must be int, not str."""
    found = _PLACE.match(str(error))
    message, place = (found["message"], found["place"] or "") if found else (str(error), "")
    inner = place.removeprefix("$").removeprefix(".")
    name = f"{field}.{inner}" if field and inner and not inner.startswith("[") else field + inner
    message = message.replace("`", "").replace("Expected ", "must be ", 1).replace(", got ", ", not ", 1)
    if message.startswith(_NO_CHOICE) and (choices := ", ".join(_choices(annotation))):
        message = f"must be one of {choices}, not {message.removeprefix(_NO_CHOICE)}"
    return FieldProblem(name, message[:1].lower() + message[1:])


def _bad(field: str, message: str) -> BadInput:
    return BadInput([FieldProblem(field, message)])
