"""Query parameters: one a route does not know, or one given twice, is refused and never silently ignored."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from litestar import Litestar, Request

from leaseforge.errors import BadInput, FieldProblem
from leaseforge_auth.audit.entries import MAX_REASON
from leaseforge_auth.guards import PUBLIC

REASON = "reason"
"""Every DELETE takes one for the audit trail."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]")


@dataclass(frozen=True, slots=True)
class _Parameter:
    """What a route's description says of one query parameter."""

    several: bool = False
    is_time: bool = False
    longest: int | None = None
    choices: tuple[str, ...] = ()

    def problem_of(self, values: list[str]) -> str | None:
        """What is wrong with the values given, None if nothing is."""
        if not self.several and len(values) > 1:
            return "is given more than once"
        # Numbers would be taken for seconds since 1970, which nobody means by `until=7`.
        if self.is_time and not all(_TIME.match(value) for value in values):
            return "must be a time such as 2030-01-31T09:30:00Z"
        if self.choices and not set(values) <= set(self.choices):
            return f"must be one of {', '.join(self.choices)}"
        if self.longest is not None and any(len(value) > self.longest for value in values):
            return f"must have at most {self.longest} characters"
        return None


async def check_query(request: Request[Any, Any, Any]) -> None:
    """Refuses (BadInput) what the route's description does not have: a misspelt filter would mean everything."""
    given = request.query_params
    # Whom a provider sends back brings along what the provider likes.
    if not given or request.scope["route_handler"].opt.get(PUBLIC):
        return
    known = _parameters(request.app).get((request.scope["path_template"], request.scope["method"]))
    if known is None:
        return
    problems = []
    for name in dict.fromkeys(given.keys()):
        parameter = known.get(name)
        problem = parameter.problem_of(given.getall(name)) if parameter else "is no parameter of this request"
        if problem:
            problems.append(FieldProblem(name, problem))
    if problems:
        raise BadInput(problems)


@lru_cache(maxsize=8)
def _parameters(app: Litestar) -> dict[tuple[str, str], dict[str, _Parameter]]:
    """Of each path and method the query parameters it takes."""
    found: dict[tuple[str, str], dict[str, _Parameter]] = {}
    document = app.openapi_schema.to_schema()
    for path, operations in (document["paths"] or {}).items():
        for method, operation in operations.items():
            named = {
                parameter["name"]: _parameter(parameter.get("schema", {}), document)
                for parameter in operation.get("parameters", [])
                if parameter["in"] == "query"
            }
            if method == "delete":
                named[REASON] = _Parameter(longest=MAX_REASON)
            found[path, method.upper()] = named
    return found


def _parameter(schema: dict[str, Any], document: dict[str, Any]) -> _Parameter:
    return _Parameter(
        several=_is_or_may_be(schema, "type", "array"),
        is_time=_is_or_may_be(schema, "format", "date-time"),
        choices=tuple(_choices(schema, document)),
    )


def _choices(schema: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    """The values of every enumeration in a schema."""
    yield from (str(value) for value in schema.get("enum", ()) if value is not None)
    inner = [one for either in ("oneOf", "anyOf", "allOf") for one in schema.get(either, ())]
    if "$ref" in schema:
        inner.append(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "items" in schema:
        inner.append(schema["items"])
    for one in inner:
        yield from _choices(one, document)


def _is_or_may_be(schema: dict[str, Any], word: str, value: str) -> bool:
    return schema.get(word) == value or any(
        _is_or_may_be(one, word, value) for either in ("oneOf", "anyOf") for one in schema.get(either, ())
    )
