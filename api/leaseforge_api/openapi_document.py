"""The OpenAPI document: what the framework generates, made as exact as the requests and answers themselves are.

The framework's own schemas leave out bounds of zero and unknown fields, so those of our structs come from msgspec,
which also decodes them. Errors are told as they are sent, and every body has an example.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from leaseforge_api.openapi_examples import EVENTS, EXAMPLES
from leaseforge_api.problems import MEDIA_TYPE, Problem
from leaseforge_api.schemas.pages import Listed
from leaseforge_auth.audit.entries import MAX_REASON

_PACKAGE = "leaseforge_api.schemas"
_EVENTS = f"{_PACKAGE}.events"
_LISTED = re.compile(r"Listed_(?:[\w.]*\.)?(\w+?)_")
_REF = "#/components/schemas/"

_PROBLEMS: Mapping[str, str] = {
    "400": "The request is malformed or has values out of bounds; `errors` names the fields",
    "401": "No token, or one that is not valid (any more)",
    "403": "The token does not allow this",
    "404": "No such thing",
    "409": "The state of the thing does not allow this",
    "413": "The body or the payload is too large",
    "415": "The body is not declared as JSON",
    "422": "The idempotency key was used for another request",
    "429": "Too many attempts; `Retry-After` says when",
    "503": "Redis is away or full, or too much is asked at a time; `Retry-After`",
}
_REASON = {
    "name": "reason",
    "in": "query",
    "required": False,
    "description": "Why it is done, for the audit trail.",
    "schema": {"type": "string", "maxLength": MAX_REASON},
}
# What answers that are no JSON are made of; each with its example.
_STREAMS: Mapping[str, tuple[str, str]] = {
    "/api/events": ("text/event-stream", EVENTS),
    "/api/audit/export": ("application/x-ndjson", '{"sequence":1,"id":"0f8c...","action":"queue.purge","...":null}\n'),
}
# A repeat of the request is answered with the first one's job, and another status.
_REPEATS: Mapping[tuple[str, str], str] = {("post", "/api/jobs"): "200"}


def document(schema: dict[str, Any], *, root_path: str = "") -> dict[str, Any]:
    """The document to be sent, of the framework's; addresses begin with `root_path`."""
    paths = {
        path: {method: _operation(path, method, operation) for method, operation in operations.items()}
        for path, operations in schema["paths"].items()
    }
    schemas = schema["components"]["schemas"] | _structs()
    schemas = {name: schemas[name] for name in sorted(_needed(paths, schemas))}
    problems = {
        f"Problem{status}": {"description": said, "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_REF}Problem"}}}}
        for status, said in {**_PROBLEMS, "Other": "Any other problem"}.items()
    }
    components = schema["components"] | {"schemas": schemas, "responses": problems}
    whole = schema | {"servers": [{"url": root_path or "/"}], "paths": paths, "components": components}
    renamed: dict[str, Any] = _renamed(whole)
    return renamed


def _operation(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    """One route's description: its own answers, its problems, examples."""
    responses = {code: _answer(path, said) for code, said in operation["responses"].items() if code < "400"}
    if (again := _REPEATS.get((method, path))) is not None:
        responses[again] = next(iter(responses.values())) | {"description": "It was done before: the first one's job"}
    responses |= {code: {"$ref": f"#/components/responses/Problem{code}"} for code in _codes(path, method, operation)}
    responses["default"] = {"$ref": "#/components/responses/ProblemOther"}
    changed = operation | {"responses": responses}
    if method == "delete":
        changed["parameters"] = [*operation.get("parameters", []), _REASON]
    if (body := operation.get("requestBody")) is not None:
        content = {kind: media | _example(media["schema"]) for kind, media in body["content"].items()}
        optional = any(_is_optional(media["schema"]) for media in body["content"].values())
        changed["requestBody"] = body | {"content": content, "required": not optional}
    return changed


def _answer(path: str, said: dict[str, Any]) -> dict[str, Any]:
    if path in _STREAMS:
        kind, example = _STREAMS[path]
        return said | {"content": {kind: {"schema": {"type": "string"}, "example": example}}}
    if "content" not in said:
        return said
    return said | {"content": {kind: media | _example(media["schema"]) for kind, media in said["content"].items()}}


def _codes(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    """The problems a route can answer, as far as its description tells."""
    parameters, has_body = operation.get("parameters", []), "requestBody" in operation
    is_open = operation.get("security") == [{}]
    yield "400"
    if not is_open:
        yield from ("401", "403")
    elif has_body:
        yield "401"
    if any(one["in"] == "path" for one in parameters):
        yield "404"
    if method != "get":
        yield "409"
    if has_body:
        yield from ("413", "415")
    if any(one["name"] == "Idempotency-Key" for one in parameters):
        yield "422"
    if path.startswith("/api/auth/"):
        yield "429"
    yield "503"


def _is_optional(schema: dict[str, Any]) -> bool:
    return any(one.get("type") == "null" for one in schema.get("oneOf", ()))


def _example(schema: dict[str, Any]) -> dict[str, Any]:
    """The example of a body with this schema, as a part of its description."""
    for ref in (schema.get("$ref"), *(one.get("$ref") for one in schema.get("oneOf", ()))):
        name = (ref or "").removeprefix(_REF)
        if (item := _LISTED.fullmatch(name)) is not None and item[1] in EXAMPLES:
            return {"example": {"items": [EXAMPLES[item[1]]], "total": 1, "next": None}}
        if name in EXAMPLES:
            return {"example": EXAMPLES[name]}
    if schema.get("type") == "array" and (inner := _example(schema["items"])):
        return {"example": [inner["example"]]}
    return {"example": "ok"} if schema.get("type") == "string" else {}


def _structs() -> dict[str, Any]:
    """The exact schema of every struct requests and answers are made of, by its name."""
    found = sorted(set(_subclasses(msgspec.Struct)), key=lambda one: one.__name__)
    own = [one for one in found if one.__module__.startswith(_PACKAGE) and one is not Listed]
    plain = [one for one in own if "__parameters__" not in vars(one) and "[" not in one.__name__]
    lists = [Listed[one] for one in plain]  # type: ignore[valid-type]  # each is a type of its own
    _, schemas = msgspec.json.schema_components([Problem, *plain, *lists], ref_template=f"{_REF}{{name}}")
    return schemas


def _needed(paths: Any, schemas: Mapping[str, Any]) -> set[str]:
    """The schemas the routes speak of, by whatever way, and those of events, which no schema of a stream can name."""
    events = {one.__name__ for one in _subclasses(msgspec.Struct) if one.__module__ == _EVENTS}
    needed: set[str] = set()
    found = {*_references(paths), *events, "Problem"}
    while found:
        needed |= found
        found = {name for one in found for name in _references(schemas[one])} - needed
    return needed


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            if key == "$ref" and one.startswith(_REF):
                yield one.removeprefix(_REF)
            yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


def _subclasses(of: type[Any]) -> Iterable[type[Any]]:
    for one in of.__subclasses__():
        yield one
        yield from _subclasses(one)


def _renamed(value: Any) -> Any:
    """The document with lists of things named after the things: `QueueList`."""
    if isinstance(value, dict):
        return {
            _LISTED.sub(r"\1List", key) if key[:7] == "Listed_" else key: _renamed(one) for key, one in value.items()
        }
    if isinstance(value, list):
        return [_renamed(one) for one in value]
    if isinstance(value, str) and value.startswith(f"{_REF}Listed_"):
        return _LISTED.sub(r"\1List", value)
    return value
