"""Through nginx with TLS, HTTP/2 and a path prefix: the samples of deploy/proxy in front of a whole installation."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from e2e.conftest import PATIENCE_MS
from e2e.console import Console
from e2e.producing import enqueue
from e2e.product import ADMIN, Product, running
from e2e.watching import Watch
from tests.deploy.nginx import nginx
from tests.deploy.proxies import Way
from tests.support import free_port


@pytest.fixture(scope="module", params=[Way.PREFIX_KEPT, Way.PREFIX_STRIPPED])
def proxied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Product, str]]:
    """An installation, and the address people know of it."""
    inner, outer = free_port(), free_port()
    public = f"https://localhost:{outer}/jobs"
    settings = {"LEASEFORGE_WEB_URL": public, "LEASEFORGE_TRUSTED_PROXIES": "127.0.0.1"}
    with (
        nginx(tmp_path_factory.mktemp("nginx"), [inner], way=request.param, port=outer),
        running(tmp_path_factory.mktemp("proxied"), root_path="/jobs", port=inner, more=settings) as product,
    ):
        yield product, public


@pytest.mark.timeout(400)
def test_an_operator_works_through_the_proxy(browser: Browser, proxied: tuple[Product, str]) -> None:
    product, public = proxied
    # The certificate is the test's own.
    context = browser.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    console = Console(page, Watch(page, scripted=True), public)
    console.open()
    console.log_in(*ADMIN)
    expect(console.heading()).to_have_text("Overview")

    expect(console.page.locator("#live")).to_have_attribute("data-state", "live")
    enqueue(product, "proxied", count=2)

    # It came by the stream, while it stays open.
    expect(console.page.get_by_role("region", name="Needs attention")).to_contain_text("No worker is running")
    console.go_to("Queues")
    console.pause("proxied")
    console.expect_told("Paused proxied")
    expect(console.page).to_have_url(f"{public}/console/queues")
    console.watch.check()
    console.page.goto(f"{public}/console/api")
    expect(console.page.get_by_text("/api/jobs", exact=True).first).to_be_visible()
    assert console.watch.problems == []
    context.close()
