"""Logins through two real providers, by their own forms: let in, kept out, and what can go wrong on the way."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.passwords import Passwords
from leaseforge_auth.roles import Role
from leaseforge_auth.users import Users
from tests.console.browsing import words
from tests.sso.conftest import Browser, Serve, Site, audited, log_in, query_of
from tests.sso.providers.running import CALLBACK, RealProvider, canaille, oidc_provider

APP = "https://app.example.com"
LISTS = {
    "ADMIN_EMAILS": "Ada@Example.com, grace@example.com",
    "OPERATOR_GROUPS": "operators",
    "ALLOWED_ORIGINS": APP,
    "TRUST_EMAIL": "off",
}


@pytest.fixture(params=["oidc-provider", "canaille"])
def provider(request: pytest.FixtureRequest, certified: RealProvider, simple: RealProvider) -> RealProvider:
    """Each of the two."""
    return certified if request.param == "oidc-provider" else simple


@pytest.fixture
async def site(serve: Serve, provider: RealProvider, simple: RealProvider) -> Site:
    """A server for the provider. Canaille calls no address verified."""
    return await serve(provider, **LISTS | {"TRUST_EMAIL": "on" if provider is simple else "off"})


async def way_back(browser: Browser, provider: RealProvider, name: str, *, return_to: str = "/console") -> str:
    """Logs somebody in at the provider and stops before our callback: its address."""
    stopped: list[str] = []
    client = browser.client
    original = client.get

    async def get(url: Any, **options: Any) -> Any:
        if str(url).startswith(CALLBACK):
            stopped.append(str(url))
            return await original("/livez")
        return await original(url, **options)

    client.get = get  # type: ignore[method-assign]  # the test holds the browser back
    try:
        await log_in(browser, provider, name, return_to=return_to)
    finally:
        client.get = original  # type: ignore[method-assign]  # and lets it go
    [address] = stopped
    return address


async def test_somebody_of_the_list_logs_in(site: Site, provider: RealProvider, store: Store) -> None:
    browser = await site.browser()

    page = await log_in(browser, provider, "ada", return_to="/console/workers")

    assert page.status_code == 200, page.text
    assert page.url.path == "/console/workers"
    assert "ada@example.com" in page.text
    account = await store.run(calls.account_info("ada@example.com"))
    assert account is not None
    assert (account.origin, Role.ADMIN in account.roles) == ("oidc", True)
    [entry] = await audited(store)
    assert (entry.user, entry.result) == ("ada@example.com", "ok")


async def test_groups_of_canaille_give_roles(serve: Serve, simple: RealProvider) -> None:
    site = await serve(simple, OPERATOR_GROUPS="operators", ADMIN_GROUPS="admins", TRUST_EMAIL="on")

    for name, role in (("ada", "operator"), ("grace", "admin")):
        page = await log_in(await site.browser(), simple, name)
        assert page.status_code == 200, page.text
        assert f">{role}</span>" in page.text


async def test_nested_roles_of_the_certified_provider_give_roles(serve: Serve, certified: RealProvider) -> None:
    site = await serve(certified, OPERATOR_GROUPS="operators", GROUPS_CLAIM="realm_access.roles")

    operator = await log_in(await site.browser(), certified, "opal")
    nobody = await log_in(await site.browser(), certified, "norbert")

    assert operator.status_code == 200, operator.text
    assert nobody.status_code == 403


async def test_whoever_is_on_no_list_is_told_whom_to_ask(site: Site, provider: RealProvider) -> None:
    browser = await site.browser()

    page = await log_in(browser, provider, "norbert")

    assert page.status_code == 403
    assert "You have no role here" in words(page.text)
    assert "norbert@example.com" in words(page.text)
    assert "Ask an administrator" in words(page.text)
    assert (await browser.client.get("/console")).status_code == 303


async def test_whoever_was_refused_can_come_back_as_somebody_else(serve: Serve, certified: RealProvider) -> None:
    site = await serve(certified, ADMIN_EMAILS="ada@example.com")
    browser = await site.browser()
    refused = await log_in(browser, certified, "norbert")
    assert 'href="/api/auth/oidc/login?prompt=login"' in refused.text

    page = await certified.log_in(browser, await browser.open("/api/auth/oidc/login?prompt=login"), "ada")

    assert page.url.path == "/console"
    assert "ada@example.com" in page.text


async def test_an_address_that_is_not_verified_is_refused(serve: Serve, certified: RealProvider) -> None:
    site = await serve(certified, ADMIN_EMAILS="una@example.com")

    page = await log_in(await site.browser(), certified, "una")

    assert page.status_code == 403
    assert "Your e-mail address is not verified" in words(page.text)


async def test_a_provider_that_verifies_nothing_has_to_be_trusted(serve: Serve, simple: RealProvider) -> None:
    site = await serve(simple, ADMIN_EMAILS="ada@example.com")

    page = await log_in(await site.browser(), simple, "ada")

    assert page.status_code == 403
    assert "Your e-mail address is not verified" in words(page.text)


async def test_a_disabled_account_is_refused(site: Site, provider: RealProvider, store: Store) -> None:
    await log_in(await site.browser(), provider, "ada")
    await store.run(calls.create_account("boss", password_hash="x", roles=[Role.ADMIN], origin="cli"))
    await Users(store, Passwords()).change("ada@example.com", disabled=True)

    page = await log_in(await site.browser(), provider, "ada")

    assert page.status_code == 403
    assert "Your account is disabled" in words(page.text)


async def test_a_way_back_cannot_be_replayed(site: Site, provider: RealProvider) -> None:
    browser = await site.browser()
    address = await way_back(browser, provider, "ada")

    first = await browser.open(address)
    again = await browser.open(address)

    assert first.status_code == 200
    assert again.status_code == 400
    assert "This login is over" in words(again.text)


async def test_a_way_back_is_of_no_use_in_another_browser(site: Site, provider: RealProvider) -> None:
    browser = await site.browser()
    address = await way_back(browser, provider, "ada")

    stranger = await (await site.browser()).open(address)

    assert stranger.status_code == 400
    assert "This login was begun elsewhere" in words(stranger.text)
    assert (await browser.open(address)).status_code == 400


async def test_a_code_the_provider_did_not_give_is_refused(site: Site, provider: RealProvider) -> None:
    browser = await site.browser()
    address = await way_back(browser, provider, "ada")

    page = await browser.open(address.replace(f"code={query_of(address)['code']}", "code=invented"))

    assert page.status_code == 400
    assert "This login is over" in words(page.text)


async def test_two_tabs_end_where_each_wanted(site: Site, provider: RealProvider) -> None:
    browser = await site.browser()
    await log_in(browser, provider, "ada")
    # The provider knows the browser by now and leads back at once.
    first = await browser.follow_until("/api/auth/oidc/login?return_to=/console/queues", CALLBACK)
    second = await browser.follow_until("/api/auth/oidc/login?return_to=/console/workers", CALLBACK)

    ends = [await browser.open(second), await browser.open(first)]

    assert [end.url.path for end in ends] == ["/console/workers", "/console/queues"]
    assert [end.status_code for end in ends] == [200, 200]


async def test_a_program_gets_a_token_by_the_code(site: Site, provider: RealProvider) -> None:
    browser = await site.browser()
    address = await way_back(browser, provider, "ada", return_to=f"{APP}/after")

    onward = (await browser.client.get(address)).headers["location"]
    traded = await browser.client.post("/api/auth/oidc/exchange", json={"code": query_of(onward)["code"]})

    assert onward.startswith(f"{APP}/after?code=")
    bearer = {"Authorization": f"Bearer {traded.json()['access_token']}"}
    assert (await browser.client.get("/api/auth/me", headers=bearer)).json()["username"] == "ada@example.com"
    assert (await browser.client.get("/api/queues", headers=bearer)).status_code == 200


async def test_a_wrong_client_secret_is_the_administrators_business(serve: Serve, provider: RealProvider) -> None:
    site = await serve(provider, ADMIN_EMAILS="ada@example.com", TRUST_EMAIL="on", CLIENT_SECRET="wrong")

    page = await log_in(await site.browser(), provider, "ada")

    assert page.status_code == 503
    assert "LEASEFORGE_OIDC_CLIENT_ID" in words(page.text)
    assert "wrong" not in words(page.text)


async def test_an_issuer_that_is_written_differently_is_told(serve: Serve, provider: RealProvider) -> None:
    site = await serve(provider, ISSUER=f"{provider.issuer}/")

    page = await (await site.browser()).open("/api/auth/oidc/login")

    assert page.status_code == 503
    assert "letter for letter" in words(page.text)


async def test_logging_out_ends_the_session_at_the_certified_provider(serve: Serve, certified: RealProvider) -> None:
    site = await serve(certified, ADMIN_EMAILS="ada@example.com", END_SESSION="on")
    browser = await site.browser()
    page = await log_in(browser, certified, "ada")
    token = page.text.partition('name="_csrf" value="')[2].partition('"')[0]

    told = await browser.client.post(
        "/console/logout", data={"_csrf": token}, headers={"Sec-Fetch-Site": "same-origin"}
    )
    onward = told.text.partition('content="0; url=')[2].partition('"')[0].replace("&amp;", "&")
    asked = await browser.open(onward)
    back = await browser.submit(asked, logout="yes")

    assert back.url.path == "/console/login"
    assert urlsplit(str((await browser.open("/api/auth/oidc/login")).url)).path.startswith("/interaction/")


@pytest.fixture(params=["oidc-provider", "canaille"])
async def ending(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RealProvider]:
    """A provider of the test's own, which it may end."""
    start = oidc_provider if request.param == "oidc-provider" else canaille
    with start(tmp_path) as running:
        yield running


async def test_a_provider_that_is_down_is_told_and_the_way_back_stays_clear(serve: Serve, ending: RealProvider) -> None:
    site = await serve(ending, ADMIN_EMAILS="ada@example.com", TRUST_EMAIL="on")
    browser = await site.browser()
    address = await way_back(browser, ending, "ada")
    ending.process.end()

    back = await browser.open(address)
    fresh = await (await (await serve(ending)).browser()).open("/api/auth/oidc/login")

    for page in (back, fresh):
        assert page.status_code == 503
        assert "The login provider does not answer" in words(page.text)
        assert page.headers["retry-after"] == "5"
        assert "Traceback" not in page.text
