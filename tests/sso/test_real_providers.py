"""Logins through two real providers, by their own forms: let in, kept out, and what can go wrong on the way."""

from tests.sso.conftest import Serve, log_in
from tests.sso.providers.running import RealProvider


async def test_somebody_of_the_list_logs_in_at_the_certified_provider(serve: Serve, certified: RealProvider) -> None:
    site = await serve(certified, ADMIN_EMAILS="Ada@Example.com")
    browser = await site.browser()

    page = await log_in(browser, certified, "ada", return_to="/console/workers")

    assert page.status_code == 200, page.text
    assert page.url.path == "/console/workers"
    assert "ada@example.com" in page.text


async def test_somebody_of_a_group_logs_in_at_canaille(serve: Serve, simple: RealProvider) -> None:
    site = await serve(simple, OPERATOR_GROUPS="operators", TRUST_EMAIL="on")
    browser = await site.browser()

    page = await log_in(browser, simple, "ada", return_to="/console/queues")

    assert page.status_code == 200, page.text
    assert page.url.path == "/console/queues"
    assert "ada@example.com" in page.text
