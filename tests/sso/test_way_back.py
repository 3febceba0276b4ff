"""The way there and back: state, cookie, nonce and code hold together, are good once, and for one browser."""

import base64
import hashlib
from contextlib import AsyncExitStack
from typing import Any

import pytest
import redis

from leaseforge.store import Store
from leaseforge_api.app import create_app
from leaseforge_api.settings import ServerSettings
from leaseforge_auth.cookies import session_cookie
from leaseforge_auth.oidc.calls import LOGIN_TTL_MS, MOST_OF_ONE_ADDRESS
from tests.sso.conftest import HTML, SECRET, AtFake, Serve, Site, audited, begin, query_of
from tests.sso.providers.fake import CLIENT_ID, FakeProvider
from tests.sso.providers.running import CALLBACK

COOKIE = "leaseforge-sso"
SESSION = session_cookie(is_secure=False, root_path="", max_age_s=60).name


@pytest.fixture
async def site(serve: Serve, fake: FakeProvider) -> Site:
    return await serve(fake, ADMIN_EMAILS="ada@example.com", ALLOWED_ORIGINS="https://app.example.com")


@pytest.fixture
async def login(site: Site, fake: FakeProvider) -> AtFake:
    return await prepared(await begin(site, fake, return_to="/console/workers"))


async def prepared(login: AtFake, **claims: Any) -> AtFake:
    """The provider answers for Ada."""
    login.provider.answer_with(login.provider.sign(login.provider.claims(login.asked["nonce"], **claims)))
    return login


@pytest.fixture
def raw(redis_url: str) -> Any:
    with redis.Redis.from_url(redis_url) as client:
        yield client


async def test_the_browser_is_sent_with_everything_a_login_is_bound_to(site: Site, fake: FakeProvider) -> None:
    browser = await site.browser()

    answer = await browser.client.get("/api/auth/oidc/login")

    asked = query_of(answer.headers["location"])
    assert answer.headers["location"].startswith(f"{fake.issuer}/authorize?")
    assert asked["response_type"] == "code"
    assert asked["client_id"] == CLIENT_ID
    assert asked["redirect_uri"] == CALLBACK
    assert asked["scope"] == "openid email profile"
    assert asked["code_challenge_method"] == "S256"
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    assert min(len(asked[name]) for name in ("state", "nonce", "code_challenge")) >= 43
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Max-Age=600" in cookie
    assert "Path=/" in cookie


async def test_on_https_the_cookie_is_this_hosts_own(serve: Serve, fake: FakeProvider) -> None:
    web = {"LEASEFORGE_WEB_URL": "https://jobs.example.com/jobs", "LEASEFORGE_ROOT_PATH": "/jobs"}
    site = await serve(
        fake, web, DEFAULT_ROLE="viewer", REDIRECT_URL="https://jobs.example.com/jobs/api/auth/oidc/callback"
    )
    browser = await site.browser()

    answer = await browser.client.get("/jobs/api/auth/oidc/login?return_to=/jobs/console/queues")

    assert answer.headers["set-cookie"].startswith("__Host-leaseforge-sso-")
    assert "Secure" in answer.headers["set-cookie"]
    assert "Domain" not in answer.headers["set-cookie"]
    assert (
        query_of(answer.headers["location"])["redirect_uri"] == "https://jobs.example.com/jobs/api/auth/oidc/callback"
    )
    login = await prepared(AtFake(site, fake, browser, query_of(answer.headers["location"])))
    value = answer.headers["set-cookie"].partition(";")[0]
    back = await browser.client.get(
        "/jobs/api/auth/oidc/callback", params={"code": "c", "state": login.asked["state"]}, headers={"Cookie": value}
    )
    assert back.headers["location"] == "/jobs/console/queues"
    assert back.headers["set-cookie"].startswith("__Host-leaseforge-")


async def test_a_login_ends_with_a_session_of_a_new_id_on_the_page_that_was_asked_for(login: AtFake) -> None:
    login.browser.client.cookies.set(SESSION, "x" * 43, domain="127.0.0.1")

    answer = await login.come_back()

    assert answer.status_code == 303
    assert answer.headers["location"] == "/console/workers"
    assert answer.headers["set-cookie"].startswith(f"{SESSION}=")
    assert "x" * 43 not in answer.headers["set-cookie"]


async def test_the_code_is_traded_with_the_verifier_of_the_challenge(login: AtFake) -> None:
    await login.come_back(code="the code")

    [form] = login.provider.forms
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    assert form["code"] == "the code"
    assert form["redirect_uri"] == CALLBACK
    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == login.asked["code_challenge"]
    assert "client_secret" not in form


async def test_a_way_back_is_good_once(login: AtFake) -> None:
    assert (await login.come_back()).status_code == 303

    again = await login.come_back()

    assert again.status_code == 400
    assert again.json()["type"] == "urn:leaseforge:problem:sso-lost"
    assert len(login.provider.forms) == 1


async def test_another_browser_cannot_finish_a_login_and_ends_it(login: AtFake) -> None:
    other = await login.site.browser()

    stranger = await login.come_back(other)
    owner = await login.come_back()

    assert stranger.json()["type"] == "urn:leaseforge:problem:sso-other-browser"
    assert owner.json()["type"] == "urn:leaseforge:problem:sso-lost"
    assert not login.provider.forms


async def test_two_browsers_cannot_swap_their_logins(site: Site, fake: FakeProvider) -> None:
    one, two = await begin(site, fake), await begin(site, fake)

    answers = [await one.come_back(state=two.asked["state"]), await two.come_back(state=one.asked["state"])]

    assert [answer.json()["type"].rpartition(":")[2] for answer in answers] == ["sso-other-browser"] * 2
    assert not fake.forms


async def test_two_tabs_of_one_browser_log_in_independently(site: Site, fake: FakeProvider) -> None:
    first = await begin(site, fake, return_to="/console/queues")
    second = await begin(site, fake, return_to="/console/workers", browser=first.browser)

    answers = [await (await prepared(tab)).come_back() for tab in (second, first)]

    assert [answer.headers["location"] for answer in answers] == ["/console/workers", "/console/queues"]


async def test_the_nonce_of_another_tab_does_not_fit(site: Site, fake: FakeProvider) -> None:
    first = await begin(site, fake)
    second = await begin(site, fake, browser=first.browser)
    await prepared(second)

    answer = await first.come_back()

    assert answer.status_code == 403


@pytest.mark.parametrize(
    "query",
    ["", "code=x", "state=x&code=x", "state=&code=x", "state=%00&code=x", "state=" + "x" * 43 + "&code=x"],
)
async def test_a_way_back_nobody_began_is_lost(query: str, site: Site, store: Store) -> None:
    browser = await site.browser()

    answer = await browser.client.get(f"/api/auth/oidc/callback?{query}")

    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:leaseforge:problem:sso-lost"
    assert await audited(store) == []


@pytest.mark.parametrize("name", ["state", "code", "iss", "error"])
async def test_a_parameter_that_is_there_twice_is_refused(name: str, login: AtFake) -> None:
    query = f"code=x&state={login.asked['state']}&{name}=a&{name}=b"

    answer = await login.browser.client.get(f"/api/auth/oidc/callback?{query}")

    assert answer.status_code == 400
    assert not login.provider.forms


async def test_a_way_back_without_a_code_is_lost(login: AtFake) -> None:
    assert (await login.come_back(code="")).status_code == 400
    assert not login.provider.forms


@pytest.mark.parametrize(
    ("sent", "named", "status"),
    [("right", False, 303), ("right", True, 303), ("wrong", False, 403), ("", True, 403), ("", False, 303)],
)
async def test_the_way_back_may_name_the_issuer_and_must_if_the_provider_says_so(
    sent: str, named: bool, status: int, serve: Serve, fake: FakeProvider
) -> None:
    fake.metadata["authorization_response_iss_parameter_supported"] = named
    login = await prepared(await begin(await serve(fake, ADMIN_EMAILS="ada@example.com"), fake))
    issuers = {"right": fake.issuer, "wrong": "https://evil.example", "": ""}

    answer = await login.come_back(iss=issuers[sent])

    assert answer.status_code == status
    assert len(fake.forms) == (1 if status == 303 else 0)


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ("access_denied", "sso-denied", 403),
        ("login_required", "sso-denied", 403),
        ("<script>alert(1)</script>", "sso-denied", 403),
        ("server_error", "sso-unavailable", 503),
        ("temporarily_unavailable", "sso-unavailable", 503),
        ("invalid_scope", "sso-misconfigured", 503),
        ("unauthorized_client", "sso-misconfigured", 503),
    ],
)
async def test_what_the_provider_says_instead_is_told(error: str, kind: str, status: int, login: AtFake) -> None:
    answer = await login.come_back(code="", error=error, error_description="<b>words</b>")

    assert answer.status_code == status
    assert answer.json()["type"] == f"urn:leaseforge:problem:{kind}"
    assert "<" not in answer.text
    assert "words" not in answer.text


@pytest.mark.parametrize(
    ("status", "document", "kind"),
    [
        (400, {"error": "invalid_grant"}, "sso-lost"),
        (401, {"error": "invalid_client"}, "sso-misconfigured"),
        (400, {"error": "unauthorized_client"}, "sso-misconfigured"),
        (403, {}, "sso-lost"),
        (500, {}, "sso-unavailable"),
        (429, {}, "sso-unavailable"),
        (302, {}, "sso-misconfigured"),
        (200, {}, "sso-denied"),
        (200, [], "sso-unavailable"),
    ],
)
async def test_what_the_token_call_says_instead_is_told(status: int, document: Any, kind: str, login: AtFake) -> None:
    login.provider.token_answer = (status, document)

    answer = await login.come_back()

    assert answer.json()["type"] == f"urn:leaseforge:problem:{kind}"
    assert "set-cookie" not in answer.headers


async def test_a_login_is_forgotten_after_ten_minutes_and_its_secrets_are_not_names(login: AtFake, raw: Any) -> None:
    keys = [key.decode() for key in raw.keys("lf:{sys}:oidc:login:*")]

    [key] = keys
    assert 0 < raw.pttl(key) <= LOGIN_TTL_MS
    assert login.asked["state"] not in key
    raw.pexpire(key, 1)
    raw.delete(key)
    assert (await login.come_back()).json()["type"] == "urn:leaseforge:problem:sso-lost"


async def test_nobody_fills_redis_by_beginning_logins(site: Site, raw: Any) -> None:
    browser = await site.browser()
    for _ in range(MOST_OF_ONE_ADDRESS + 20):
        assert (await browser.client.get("/api/auth/oidc/login")).status_code == 303

    assert len(raw.keys("lf:{sys}:oidc:login:*")) == MOST_OF_ONE_ADDRESS


async def test_strangers_fill_no_audit_trail_and_are_slowed_down(site: Site, fake: FakeProvider, store: Store) -> None:
    statuses = []
    browser = await site.browser()
    for _ in range(40):
        login = await begin(site, fake, browser=browser)
        statuses.append((await login.come_back(code="guessed")).status_code)

    assert statuses[:20] == [400] * 20
    assert 429 in statuses
    assert await audited(store) == []
    assert len(fake.forms) < 40


async def test_many_who_succeed_slow_nobody_down(site: Site, fake: FakeProvider) -> None:
    for _ in range(40):
        assert (await (await prepared(await begin(site, fake))).come_back()).status_code == 303


async def test_a_login_leaves_its_pair_in_the_audit_trail(login: AtFake, store: Store) -> None:
    answer = await login.come_back()

    [entry] = await audited(store)
    assert entry.user == "ada@example.com"
    assert entry.result == "ok"
    assert entry.detail["email"] == "ada@example.com"
    assert answer.headers["x-audit-id"] == entry.id


async def test_refusals_are_pages_for_people_and_problems_for_programs(login: AtFake) -> None:
    await prepared(login, email_verified=False)
    state = {"state": login.asked["state"], "code": "x"}

    page = await login.browser.client.get("/api/auth/oidc/callback", params=state, headers=HTML)
    problem = await login.browser.client.get("/api/auth/oidc/callback", params=state)

    assert page.status_code == 403
    assert page.headers["content-type"].startswith("text/html")
    assert "Your e-mail address is not verified" in page.text
    assert "ada@example.com" in page.text
    assert "email_not_verified" in page.text
    assert 'href="/console/login"' in page.text
    assert problem.headers["content-type"].startswith("application/problem+json")


async def test_an_unsafe_word_of_the_provider_is_shown_as_text(login: AtFake) -> None:
    await prepared(login, email="<script>alert(1)</script>@example.com")

    state = {"state": login.asked["state"], "code": "x"}
    page = await login.browser.client.get("/api/auth/oidc/callback", params=state, headers=HTML)

    assert page.status_code == 403
    assert "<script>alert" not in page.text


@pytest.mark.parametrize("path", ["login", "callback", "exchange"])
async def test_without_a_provider_there_is_no_single_sign_on(path: str, store: Store) -> None:
    app = create_app(ServerSettings.read({"LEASEFORGE_AUTH_SECRET": SECRET}), store)
    async with app.lifespan(), AsyncExitStack() as stack:
        client = (await Site(app, stack).browser()).client
        address = f"/api/auth/oidc/{path}"
        asked = client.post(address, json={"code": "x" * 43}) if path == "exchange" else client.get(address)
        answer = await asked

    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:leaseforge:problem:sso-off"
