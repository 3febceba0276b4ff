"""The API's description for programs."""

from typing import Any

from litestar import Request, Router, get

from leaseforge_api.problems import MEDIA_TYPE
from leaseforge_auth.guards import any_identity


@get("/openapi.json", sync_to_thread=False, include_in_schema=False, **any_identity())
def openapi(request: Request[Any, Any, Any]) -> dict[str, Any]:
    """The OpenAPI document of all routes under /api."""
    return document(request.app.openapi_schema.to_schema())


def document(schema: dict[str, Any]) -> dict[str, Any]:
    """The generated document with errors as they really are: every operation answers them as problem+json."""
    problem = {
        "description": "a problem",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    paths = {
        path: {
            method: operation
            | {
                "responses": {code: said for code, said in operation["responses"].items() if code < "400"}
                | {"default": problem}
            }
            for method, operation in operations.items()
        }
        for path, operations in schema["paths"].items()
    }
    schemas = {name: _strict(name, known) for name, known in schema["components"]["schemas"].items()}
    components = schema["components"] | {"schemas": schemas | {"Problem": PROBLEM}}
    return schema | {"paths": paths, "components": components}


def _strict(name: str, known: dict[str, Any]) -> dict[str, Any]:
    """What requests are made of takes no unknown fields, which the generator does not see."""
    is_asked = name.endswith("Request") or name in ("Frozen", "Moment", "QueueAction")
    return known | {"additionalProperties": False} if is_asked else known


PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance", "request_id", "errors"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


class NoPages(Router):
    """The framework would serve pages of its own about the document, with scripts of foreign hosts; it gets none."""

    def register(self, value: Any) -> list[Any]:
        """Takes nothing in."""
        return []


router = Router("/", route_handlers=[openapi])
