"""Ada tries the API out in her browser, with a token of her own, behind a proxy's prefix and without the internet."""

import json
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.product import ADMIN, Product, running


@pytest.fixture(scope="module")
def prefixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    with running(tmp_path_factory.mktemp("prefixed"), root_path="/ops") as product:
        yield product


def token(product: Product) -> str:
    login = json.dumps({"username": ADMIN[0], "password": ADMIN[1]}).encode()
    request = urllib.request.Request(
        f"{product.url}/api/auth/login", login, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(json.load(answer)["access_token"])


def test_the_api_is_tried_out_with_a_bearer_token(prefixed: Product, visit: Callable[..., Console]) -> None:
    console = visit(at=prefixed)
    page = console.page
    foreign: list[str] = []
    page.on(
        "request",
        lambda request: None if request.url.startswith((prefixed.url, "data:")) else foreign.append(request.url),
    )

    console.go_to("API")
    expect(page.get_by_role("heading", name="API", exact=True)).to_be_visible()
    page.locator("#operations-queues-list_queues .opblock-summary-control").click()
    page.get_by_role("button", name="Try it out").click()

    # The session of the console is no way into the API.
    with console.watch.expecting(401):
        page.get_by_role("button", name="Execute").click()
        expect(page.locator(".live-responses-table tbody .response-col_status").first).to_contain_text("401")

    page.locator(".auth-wrapper .btn.authorize").click()
    page.locator("#auth-bearer-value").fill(token(prefixed))
    page.get_by_role("button", name="Apply credentials").click()
    page.locator(".btn-done").click()
    page.get_by_role("button", name="Execute").click()

    expect(page.locator(".live-responses-table tbody .response-col_status").first).to_contain_text("200")
    expect(page.locator(".request-url pre")).to_contain_text(f"{prefixed.url}/api/queues")
    assert foreign == []
