"""The API's description: complete, and true about errors and strictness."""

import copy
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types; the schema test brings it
import pytest

from leaseforge.store import Store
from leaseforge_api.app import create_app
from leaseforge_api.openapi_document import document as document_of
from leaseforge_api.settings import ServerSettings
from leaseforge_auth.guards import AUTH
from leaseforge_auth.roles import Role
from tests.api.conftest import SECRET, Bearer, Client
from tests.api.test_routes import ROUTES

OPEN = {
    "/api/auth/login",
    "/api/auth/config",
    "/api/auth/oidc/login",
    "/api/auth/oidc/callback",
    "/api/auth/oidc/exchange",
}

PUBLISHED = (Path(__file__).parent / "operation_ids.txt").read_text("utf-8").split()
"""Generated clients have calls of these names: one may be added, none may go."""


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
            refused = {code: said for code, said in operation["responses"].items() if code >= "4"}
            assert {"400", "503", "default"} <= set(refused)
            assert {"401", "403"} <= set(refused) or path in OPEN
            for said in refused.values():
                shared = document["components"]["responses"][said["$ref"].rpartition("/")[2]]
                assert set(shared["content"]) == {"application/problem+json"}
            assert (operation.get("security") == [{}]) is (path in OPEN)
    assert document["security"] == [{"bearer": []}]


def badly_named(document: dict[str, Any]) -> list[str]:
    """What is wrong with the names of operations and their groups."""
    operations = {
        f"{method} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    faults = []
    for place, operation in operations.items():
        summary = operation.get("summary", "")
        if len(summary.split()) < 2 or not summary[0].isupper() or summary.endswith("."):
            faults.append(f"{place}: summary")
        if not operation.get("description", "").strip():
            faults.append(f"{place}: description")
        if not re.fullmatch(r"[a-z]+(_[a-z]+)+", operation["operationId"]):
            faults.append(f"{place}: operationId")
    for name in ("summary", "operationId"):
        counts = Counter(operation.get(name) for operation in operations.values())
        faults += [f"{name} twice: {value}" for value, count in counts.items() if count > 1]
    used = {tag for operation in operations.values() for tag in operation["tags"]}
    described = {tag["name"] for tag in document["tags"] if len(tag["description"].split()) > 4}
    return faults + [f"tag: {name}" for name in sorted(used ^ described)]


async def test_every_operation_has_a_name_of_its_own(document: dict[str, Any]) -> None:
    assert badly_named(document) == []


PLANTED: dict[str, Callable[[dict[str, Any]], object]] = {
    "get /api/jobs: summary": lambda named: named["/api/jobs"]["get"].update(summary="Index"),
    "get /api/queues: summary": lambda named: named["/api/queues"]["get"].pop("summary"),
    "post /api/jobs: summary": lambda named: named["/api/jobs"]["post"].update(summary="enqueues a job"),
    "post /api/jobs: description": lambda named: named["/api/jobs"]["post"].update(description=" "),
    "get /api/jobs: operationId": lambda named: named["/api/jobs"]["get"].update(operationId="ApiJobsIndex"),
    "summary twice: List jobs": lambda named: named["/api/dlq"]["get"].update(summary="List jobs"),
    "operationId twice: list_jobs": lambda named: named["/api/dlq"]["get"].update(operationId="list_jobs"),
    "tag: other": lambda named: named["/api/dlq"]["get"].update(tags=["dlq", "other"]),
}


@pytest.mark.parametrize("fault", PLANTED)
async def test_a_bad_name_is_found(fault: str, document: dict[str, Any]) -> None:
    changed = copy.deepcopy(document)
    PLANTED[fault](changed["paths"])

    assert fault in badly_named(changed)


async def test_calls_of_generated_clients_keep_their_names(document: dict[str, Any]) -> None:
    ids = {operation["operationId"] for methods in document["paths"].values() for operation in methods.values()}

    assert sorted(ids) == PUBLISHED, "add new ids to operation_ids.txt; a published one stays, by `operation_id=`"


async def test_requests_are_described_as_strict_as_they_are(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]

    for name in ("JobRequest", "BulkRequest", "LoginRequest", "PurgeRequest", "RetryRequest", "QueueAction"):
        assert schemas[name]["additionalProperties"] is False
    assert "additionalProperties" not in schemas["JobShown"]
    assert schemas["PurgeAnswer"]["properties"]["removed"]["minimum"] == 0


async def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    known = {f"#/components/{kind}/{name}" for kind, named in document["components"].items() for name in named}

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if "$ref" in value else set()
            return own.union(*(references(inner) for inner in value.values()))
        return set().union(*(references(inner) for inner in value)) if isinstance(value, list) else set()

    assert references(document) <= known


async def test_every_body_has_an_example_that_fits_its_schema(document: dict[str, Any]) -> None:
    bodies = 0
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for said in [*operation["responses"].values(), operation.get("requestBody", {})]:
                for media in said.get("content", {}).values():
                    schema = media["schema"] | {"components": document["components"]}
                    jsonschema.Draft202012Validator(schema).validate(media["example"])
                    bodies += 1
            assert bodies, path
    assert bodies > 80


async def test_addresses_carry_the_prefix_and_streams_their_type(
    store: Store, client: Client, document: dict[str, Any]
) -> None:
    app = create_app(ServerSettings.read({"LEASEFORGE_AUTH_SECRET": SECRET, "LEASEFORGE_ROOT_PATH": "/ops"}), store)

    prefixed = document_of(app.openapi_schema.to_schema(), root_path=app.state.root_path)

    assert prefixed["servers"] == [{"url": "/ops"}]
    assert document["servers"] == [{"url": "/"}]
    assert set(prefixed["paths"]["/api/events"]["get"]["responses"]["200"]["content"]) == {"text/event-stream"}


async def test_the_page_about_the_api_is_for_those_who_are_logged_in(client: Client, admin: dict[str, str]) -> None:
    for headers in ({}, admin):
        for path in ("/console/api", "/console/api/openapi.json"):
            answer = await client.get(path, headers=headers, follow_redirects=False)
            assert answer.status_code == 302 or answer.status_code == 303
            assert "/console/login" in answer.headers["location"]
