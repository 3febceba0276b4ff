"""What a filter finds, as a file: complete, masked, and kept in the audit trail."""

import csv
import json
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue
from e2e.product import Product


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no-script"])
def test_a_filter_is_exported(visit: Callable[..., Console], product: Product, scripted: bool) -> None:
    queue = f"taken-{'live' if scripted else 'plain'}"
    payload = {"to": "ada@example.org", "api_key": "hunter2"}
    wanted = enqueue(product, queue, count=120, tags=("=1+1",), payload=payload)
    enqueue(product, queue, count=3)
    console = visit(scripted=scripted)
    page = console.page

    console.open(f"/jobs?queue={queue}&tag=%3D1%2B1")
    page.locator("#export summary").click()
    console.watch.check()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV", exact=True).click()
    with download.value.path().open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["id"] for row in rows} == set(wanted)
    assert {row["tags"] for row in rows} == {"'=1+1"}
    assert download.value.suggested_filename.endswith(".csv")

    with page.expect_download() as download:
        page.get_by_role("link", name="JSON lines with payloads").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert [json.loads(line)["payload"]["to"] for line in text.splitlines()] == ["ada@example.org"] * 120
    assert "hunter2" not in text
    console.open("/audit?action=jobs.export")
    expect(page.locator("tbody").get_by_text("jobs.export").first).to_be_visible()
