"""docs/api.md says what the server does: its routes with their permissions, and its errors."""

import re
from pathlib import Path

from leaseforge_api import problems
from leaseforge_auth.guards import ANY_IDENTITY, AUTH, PERMISSION
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role
from tests.api.test_routes import API, ROUTES, Route

DOCUMENT = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")


def way_in(route: Route) -> str:
    if route.opt.get(ANY_IDENTITY):
        return "any"
    permissions: tuple[Permission, ...] = route.opt.get(PERMISSION, ())
    return " or ".join(f"`{permission}`" for permission in permissions) or "open"


def test_every_route_is_listed_with_its_permission() -> None:
    listed = dict(re.findall(r"^\| `([A-Z]+ /[^`]*)` \| ([^|]+?) \|", DOCUMENT, re.MULTILINE))

    expected = {
        re.sub(r"\{(job|worker|token|session|operation)_id\}", "{id}", str(route)): way_in(route)
        for route in ROUTES
        if route.opt.get(AUTH) == "bearer"
    }
    assert listed == expected
    assert len(API) < len(expected)


def test_every_kind_of_problem_is_listed_with_its_status() -> None:
    for kind in problems._KINDS.values():
        [row] = [line for line in DOCUMENT.splitlines() if line.startswith(f"| {kind.status} |")]
        assert f"`{kind.slug}`" in row


def test_every_role_is_listed() -> None:
    assert re.findall(
        r"^\| `(\w+)` \|", DOCUMENT.partition("## Roles")[2].partition("## Routes")[0], re.MULTILINE
    ) == list(Role)
