"""An administrator has to see what is masked: says why, sees it once, and finds it in the audit trail."""

import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue
from e2e.product import Product


def test_it_is_shown_for_a_reason_and_written_down(
    visit: Callable[..., Console], product: Product, tmp_path: Path
) -> None:
    [job_id] = enqueue(product, "secretive", payload={"to": "ada", "password": "hunter2"})
    console = visit()
    page = console.page
    console.open(f"/jobs/{job_id}")
    expect(page.locator("#payload")).to_contain_text("1 value masked")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the payload").click()
    download.value.save_as(tmp_path / "masked.json")
    assert json.loads((tmp_path / "masked.json").read_text()) == {"to": "ada", "password": "[masked]"}

    page.get_by_role("link", name="Reveal… what is masked in the payload").click()
    expect(console.dialog).to_contain_text("kept in the audit trail")
    console.watch.check()
    console.dialog.get_by_label("Reason").fill("ticket 17: the customer asks")
    console.dialog.get_by_role("button", name="Reveal and write it down").click()
    expect(page.locator("#payload")).to_contain_text("hunter2")
    console.watch.check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download revealed payload").click()
    download.value.save_as(tmp_path / "revealed.json")
    assert json.loads((tmp_path / "revealed.json").read_text())["password"] == "hunter2"

    page.get_by_role("link", name="Audit entry").click()
    entry = page.locator("[id^=entry-]").first
    expect(entry).to_contain_text("ticket 17: the customer asks")
    expect(page.get_by_role("rowheader", name="job.reveal")).to_have_count(1)
    console.watch.check()
    console.open(f"/jobs/{job_id}")
    expect(page.locator("#payload")).to_contain_text("1 value masked")
    assert "hunter2" not in page.content()
