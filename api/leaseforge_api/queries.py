"""Query parameters: one a route does not know, or one given twice, is refused and never silently ignored."""

from functools import lru_cache
from typing import Any

from litestar import Litestar, Request

from leaseforge.errors import BadInput, FieldProblem
from leaseforge_auth.guards import PUBLIC

REASON = "reason"
"""Every DELETE takes one for the audit trail."""


async def check_query(request: Request[Any, Any, Any]) -> None:
    """Refuses (BadInput) what the route's description does not have: a misspelt filter would mean everything."""
    given = request.query_params
    # Whom a provider sends back brings along what the provider likes.
    if not given or request.scope["route_handler"].opt.get(PUBLIC):
        return
    known = _parameters(request.app).get((request.scope["path_template"], request.scope["method"]))
    if known is None:
        return
    problems = [
        FieldProblem(name, "is no parameter of this request" if name not in known else "is given more than once")
        for name in dict.fromkeys(given.keys())
        if name not in known or (not known[name] and len(given.getall(name)) > 1)
    ]
    if problems:
        raise BadInput(problems)


@lru_cache(maxsize=8)
def _parameters(app: Litestar) -> dict[tuple[str, str], dict[str, bool]]:
    """Of each path and method the names it takes, and whether several values of one are fine."""
    found: dict[tuple[str, str], dict[str, bool]] = {}
    for path, operations in (app.openapi_schema.to_schema()["paths"] or {}).items():
        for method, operation in operations.items():
            named = {
                parameter["name"]: _takes_several(parameter.get("schema", {}))
                for parameter in operation.get("parameters", [])
                if parameter["in"] == "query"
            }
            if method == "delete":
                named[REASON] = False
            found[path, method.upper()] = named
    return found


def _takes_several(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "array" or any(
        _takes_several(one) for word in ("oneOf", "anyOf") for one in schema.get(word, ())
    )
