"""The API's description: complete, and true about errors and strictness."""

from typing import Any

import pytest

from leaseforge_auth.guards import AUTH
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client
from tests.api.test_routes import ROUTES

OPEN = {
    "/api/auth/login",
    "/api/auth/config",
    "/api/auth/oidc/login",
    "/api/auth/oidc/callback",
    "/api/auth/oidc/exchange",
}


@pytest.fixture
async def document(client: Client, bearer: Bearer) -> dict[str, Any]:
    answer = await client.get("/api/openapi.json", headers=bearer(Role.PRODUCER))
    assert answer.status_code == 200
    described: dict[str, Any] = answer.json()
    return described


async def test_every_route_of_the_api_is_described(document: dict[str, Any]) -> None:
    described = {f"{method.upper()} {path}" for path, operations in document["paths"].items() for method in operations}

    assert described == {
        str(route) for route in ROUTES if route.opt.get(AUTH) == "bearer" and "openapi" not in route.template
    }


async def test_every_operation_says_what_it_does_and_how_it_fails(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["description"]
            assert set(operation["responses"]["default"]["content"]) == {"application/problem+json"}
            assert not {code for code in operation["responses"] if code.startswith(("4", "5"))}
            assert (operation.get("security") == [{}]) is (path in OPEN)
    assert document["security"] == [{"bearer": []}]


async def test_requests_are_described_as_strict_as_they_are(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]

    for name in ("JobRequest", "BulkRequest", "LoginRequest", "PurgeRequest", "RetryRequest", "QueueAction"):
        assert schemas[name]["additionalProperties"] is False
    assert "additionalProperties" not in schemas["JobShown"]


async def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if "$ref" in value else set()
            return own.union(*(references(inner) for inner in value.values()))
        return set().union(*(references(inner) for inner in value)) if isinstance(value, list) else set()

    assert references(document) <= known
