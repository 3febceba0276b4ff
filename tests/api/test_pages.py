"""Cursors: places in a list that only the list's own answers can name."""

import base64

import pytest

from leaseforge.errors import BadInput
from leaseforge_api.schemas.pages import Cursors
from tests.api.conftest import SECRET, Client

OTHER = "another secret of more than thirty-two bytes"
CURSORS = Cursors([SECRET])


def test_a_cursor_leads_back_to_its_place() -> None:
    assert CURSORS.read("/api/queues?", CURSORS.write("/api/queues?", "50")) == "50"


def test_after_a_rotation_of_secrets_old_cursors_go_on() -> None:
    assert Cursors([OTHER, SECRET]).read("/list?", CURSORS.write("/list?", "50")) == "50"


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "é",
        "=" * 5,
        base64.urlsafe_b64encode(b"50").decode(),
        base64.urlsafe_b64encode(b"50.0123456789abcdef.0123456789abcdef").decode(),
        CURSORS.write("/list?state=dead", "50"),
        CURSORS.write("/list?", "50")[:-2] + "AA",
        Cursors([OTHER]).write("/list?", "50"),
    ],
)
def test_any_other_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(BadInput, match="not a cursor of this list"):
        CURSORS.read("/list?", cursor)


async def test_a_cursor_does_not_fit_other_filters_or_lists(client: Client, admin: dict[str, str]) -> None:
    for number in range(3):
        await client.post("/api/jobs", json={"type": "echo", "queue": f"q{number}"}, headers=admin)
    following = (await client.get("/api/queues?limit=1", headers=admin)).json()["next"]

    assert (await client.get(f"/api/queues?limit=2&cursor={following}", headers=admin)).status_code == 200
    for path in ("/api/workers", "/api/queues/q0/jobs", "/api/audit"):
        answer = await client.get(f"{path}?cursor={following}", headers=admin)
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "cursor"
