"""What becomes of people here: accounts, roles that follow the provider, one-time codes, passwords that are off."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest
import redis

from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.passwords import Passwords
from leaseforge_auth.roles import Role
from leaseforge_auth.users import Users
from tests.sso.conftest import AtFake, Browser, Serve, Site, audited, begin, query_of
from tests.sso.providers.fake import ACCESS_TOKEN, FakeProvider

ADA = "ada@example.com"


async def enter(
    site: Site, fake: FakeProvider, *, return_to: str = "/console", **claims: Any
) -> tuple[Browser, httpx.Response]:
    """A login of Ada, or of whom the claims say."""
    login: AtFake = await begin(site, fake, return_to=return_to)
    fake.answer_with(fake.sign(fake.claims(login.asked["nonce"], **claims)))
    return login.browser, await login.come_back()


@pytest.fixture
async def site(serve: Serve, fake: FakeProvider) -> Site:
    lists = {"ADMIN_EMAILS": "root@example.com", "OPERATOR_GROUPS": "ops", "ALLOWED_ORIGINS": "https://app.example.com"}
    return await serve(fake, **lists)


async def account(store: Store, name: str = ADA) -> calls.AccountInfo:
    found = await store.run(calls.account_info(name))
    assert found is not None
    return found


def users(store: Store) -> Users:
    return Users(store, Passwords())


async def test_a_first_login_makes_an_account_without_a_password(site: Site, fake: FakeProvider, store: Store) -> None:
    browser, answer = await enter(site, fake, groups=["ops"])

    found = await account(store)
    assert answer.status_code == 303
    assert (found.origin, found.roles, found.has_password) == ("oidc", (Role.OPERATOR,), False)
    assert found.last_login_at_ms is not None
    assert (await browser.client.get("/console")).status_code == 200


async def test_people_are_who_they_are_though_their_address_changes(
    site: Site, fake: FakeProvider, store: Store
) -> None:
    await enter(site, fake, groups=["ops"])
    await enter(site, fake, groups=["ops"], email="ada.lovelace@example.com")

    assert (await store.run(calls.list_accounts(offset=0, count=10)))[1] == 1
    assert (await account(store)).username == ADA


async def test_whoever_gets_the_address_of_somebody_else_does_not_get_the_account(
    site: Site, fake: FakeProvider, store: Store
) -> None:
    await enter(site, fake, groups=["ops"])

    await enter(site, fake, groups=["ops"], sub="somebody else")

    listed, total = await store.run(calls.list_accounts(offset=0, count=10))
    assert total == 2
    assert {info.username for info in listed} > {ADA}


async def test_an_account_with_a_password_is_not_taken_over(site: Site, fake: FakeProvider, store: Store) -> None:
    await store.run(calls.create_account(ADA, password_hash="x", roles=[Role.ADMIN], origin="cli"))

    await enter(site, fake, groups=["ops"])

    assert (await account(store)).origin == "cli"
    listed, _ = await store.run(calls.list_accounts(offset=0, count=10))
    [other] = [info for info in listed if info.username != ADA]
    assert other.username.startswith(f"{ADA}-")
    assert other.roles == (Role.OPERATOR,)


async def test_roles_follow_the_provider_and_new_ones_end_old_sessions(
    site: Site, fake: FakeProvider, store: Store
) -> None:
    before, _ = await enter(site, fake, groups=["ops"])
    same, _ = await enter(site, fake, groups=["ops"])
    assert (await before.client.get("/console")).status_code == 200

    await enter(site, fake, email="root@example.com")

    assert (await account(store)).roles == (Role.ADMIN,)
    assert (await before.client.get("/console")).status_code == 303
    assert (await same.client.get("/console")).status_code == 303


async def test_whoever_is_on_no_list_is_kept_out_and_gets_no_account(
    site: Site, fake: FakeProvider, store: Store
) -> None:
    _, answer = await enter(site, fake)

    assert answer.status_code == 403
    assert ADA in answer.json()["detail"]
    assert (await store.run(calls.list_accounts(offset=0, count=10)))[1] == 0
    [entry] = await audited(store)
    assert entry.detail["cause"] == "no_role"
    assert entry.detail["email"] == ADA


async def test_whoever_was_taken_off_the_lists_loses_roles_and_sessions(
    site: Site, fake: FakeProvider, store: Store
) -> None:
    before, _ = await enter(site, fake, email="root@example.com")

    _, answer = await enter(site, fake, email="root@example.org")

    assert answer.status_code == 403
    assert (await account(store, "root@example.com")).roles == ()
    assert (await before.client.get("/console")).status_code == 303


async def test_a_disabled_account_holds_against_the_provider(site: Site, fake: FakeProvider, store: Store) -> None:
    before, _ = await enter(site, fake, groups=["ops"])
    await users(store).change(ADA, disabled=True)

    _, answer = await enter(site, fake, groups=["ops"])

    assert answer.status_code == 403
    assert "disabled" in answer.json()["detail"]
    assert (await before.client.get("/console")).status_code == 303
    await users(store).change(ADA, disabled=False)
    assert (await enter(site, fake, groups=["ops"]))[1].status_code == 303


async def test_a_removed_account_is_made_anew(site: Site, fake: FakeProvider, store: Store) -> None:
    before, _ = await enter(site, fake, groups=["ops"])
    await users(store).delete(ADA)

    _, answer = await enter(site, fake, groups=["ops"])

    assert answer.status_code == 303
    assert (await account(store)).origin == "oidc"
    assert (await before.client.get("/console")).status_code == 303


async def test_the_default_role_lets_everybody_in(serve: Serve, fake: FakeProvider, store: Store) -> None:
    site = await serve(fake, DEFAULT_ROLE="viewer")

    await enter(site, fake)

    assert (await account(store)).roles == (Role.VIEWER,)


async def test_what_the_id_token_lacks_comes_from_userinfo(site: Site, fake: FakeProvider, store: Store) -> None:
    fake.userinfo = (200, {"sub": "subject", "email": ADA, "email_verified": True, "groups": ["ops"]})

    _, answer = await enter(site, fake, email=None, email_verified=None)

    assert answer.status_code == 303
    assert (await account(store)).roles == (Role.OPERATOR,)


@pytest.mark.parametrize(
    ("status", "document", "expected"),
    [
        (200, {"sub": "other", "email": ADA, "email_verified": True}, 403),
        (200, {"email": ADA, "email_verified": True}, 403),
        (200, {"sub": "subject"}, 403),
        (500, {}, 503),
        (401, {}, 503),
    ],
)
async def test_userinfo_that_does_not_fit_lets_nobody_in(
    status: int, document: Mapping[str, Any], expected: int, site: Site, fake: FakeProvider
) -> None:
    fake.userinfo = (status, document)

    _, answer = await enter(site, fake, email=None, email_verified=None, groups=["ops"])

    assert answer.status_code == expected


async def test_another_program_gets_a_token_for_the_code(site: Site, fake: FakeProvider, store: Store) -> None:
    browser, answer = await enter(site, fake, return_to="https://app.example.com/after?tab=1", groups=["ops"])
    onward = answer.headers["location"]
    assert onward.startswith("https://app.example.com/after?tab=1&code=")
    assert "set-cookie" not in answer.headers

    traded = await browser.client.post("/api/auth/oidc/exchange", json={"code": query_of(onward)["code"]})

    body = traded.json()
    assert traded.status_code == 200, traded.text
    assert body["user"]["username"] == ADA
    assert body["user"]["roles"] == ["operator"]
    me = await browser.client.get("/api/auth/me", headers={"Authorization": f"Bearer {body['access_token']}"})
    assert me.json()["username"] == ADA
    assert [entry.action for entry in await audited(store)] == ["login.sso", "login.sso"]
    assert ACCESS_TOKEN not in traded.text


async def test_a_code_is_good_once(site: Site, fake: FakeProvider) -> None:
    browser, answer = await enter(site, fake, return_to="https://app.example.com/", groups=["ops"])
    code = {"code": query_of(answer.headers["location"])["code"]}

    statuses = [(await browser.client.post("/api/auth/oidc/exchange", json=code)).status_code for _ in range(3)]

    assert statuses == [200, 401, 401]


async def test_a_code_ends_after_a_minute_and_with_the_account(
    site: Site, fake: FakeProvider, store: Store, redis_url: str
) -> None:
    browser, answer = await enter(site, fake, return_to="https://app.example.com/", groups=["ops"])
    code = query_of(answer.headers["location"])["code"]
    with redis.Redis.from_url(redis_url) as raw:
        [key] = raw.keys("lf:{sys}:oidc:code:*")
        assert code not in key.decode()
        assert 0 < raw.pttl(key) <= 60_000
    await users(store).change(ADA, disabled=True)

    traded = await browser.client.post("/api/auth/oidc/exchange", json={"code": code})

    assert traded.status_code == 401


@pytest.mark.parametrize("code", ["x", "x" * 43, "../../x", "\x00" * 43, "a" * 256])
async def test_made_up_codes_are_refused_and_fill_no_trail(code: str, site: Site, store: Store) -> None:
    browser = await site.browser()

    answer = await browser.client.post("/api/auth/oidc/exchange", json={"code": code})

    assert answer.status_code == 401
    assert await audited(store) == []


async def test_the_configuration_tells_the_ways_to_log_in(serve: Serve, fake: FakeProvider) -> None:
    browser = await (await serve(fake, PROVIDER_NAME="Example Login")).browser()
    quiet = await (await serve(fake, {"LEASEFORGE_PASSWORD_LOGIN": "off"})).browser()

    assert (await browser.client.get("/api/auth/config")).json() == {
        "password": True,
        "sso": {"enabled": True, "provider": "Example Login", "login_url": "/api/auth/oidc/login"},
    }
    assert (await quiet.client.get("/api/auth/config")).json()["password"] is False


async def test_the_login_page_leads_to_the_provider_by_a_link(serve: Serve, fake: FakeProvider) -> None:
    browser = await (await serve(fake, PROVIDER_NAME="Example <Login>")).browser()

    page = (await browser.client.get("/console/login?next=/console/queues")).text

    assert 'href="/api/auth/oidc/login?return_to=/console/queues"' in page
    assert "Continue with Example &lt;Login&gt;" in page
    assert 'name="password"' in page


PASSWORDS = {
    "LEASEFORGE_USERS": '[{"username": "glass", "roles": ["admin"], "password": "correct horse battery"},'
    '{"username": "other", "roles": ["admin"], "password": "correct horse battery"}]',
    "LEASEFORGE_PASSWORD_LOGIN": "off",
    "LEASEFORGE_BREAK_GLASS": "glass",
}


async def test_with_passwords_off_only_the_emergency_accounts_have_one(
    serve: Serve, fake: FakeProvider, store: Store
) -> None:
    browser = await (await serve(fake, PASSWORDS)).browser()

    answers = {
        name: await browser.client.post("/api/auth/login", json={"username": name, "password": "correct horse battery"})
        for name in ("glass", "other")
    }

    assert answers["glass"].status_code == 200
    assert answers["other"].status_code == 401
    assert "single sign-on" in answers["other"].json()["detail"]


async def test_with_passwords_off_the_form_is_behind_a_small_link(serve: Serve, fake: FakeProvider) -> None:
    browser = await (await serve(fake, PASSWORDS)).browser()
    same_site = {"Sec-Fetch-Site": "same-origin"}

    page = (await browser.client.get("/console/login")).text
    form = (await browser.client.get("/console/login?password=1")).text
    sent = {"username": "other", "password": "correct horse battery"}
    refused = await browser.client.post("/console/login", data=sent, headers=same_site)
    let_in = await browser.client.post("/console/login", data=sent | {"username": "glass"}, headers=same_site)

    assert 'name="password"' not in page
    assert "/console/login?password=1" in page
    assert 'name="password"' in form
    assert "emergency accounts only" in form
    assert refused.status_code == 401
    assert 'name="password"' in refused.text
    assert let_in.status_code == 303


async def test_with_passwords_off_and_no_emergency_accounts_there_is_no_form(serve: Serve, fake: FakeProvider) -> None:
    browser = await (await serve(fake, {"LEASEFORGE_PASSWORD_LOGIN": "off"})).browser()

    page = (await browser.client.get("/console/login?password=1")).text

    assert 'name="password"' not in page
    assert "?password=1" not in page


async def test_logging_out_leads_on_to_the_provider_if_that_is_wanted(serve: Serve, fake: FakeProvider) -> None:
    site = await serve(fake, DEFAULT_ROLE="viewer", END_SESSION="on")
    browser, _ = await enter(site, fake)
    token = (await browser.client.get("/console")).text.partition('name="_csrf" value="')[2].partition('"')[0]

    answer = await browser.client.post(
        "/console/logout", data={"_csrf": token}, headers={"Sec-Fetch-Site": "same-origin"}
    )

    onward = f"{fake.issuer}/logout?tenant=1&amp;client_id=leaseforge&amp;post_logout_redirect_uri="
    assert answer.status_code == 200
    assert f'content="0; url={onward}' in answer.text
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert (await browser.client.get("/console")).status_code == 303


async def test_logging_out_stays_here_unless_it_is_wanted(serve: Serve, fake: FakeProvider) -> None:
    site = await serve(fake, DEFAULT_ROLE="viewer")
    browser, _ = await enter(site, fake)
    token = (await browser.client.get("/console")).text.partition('name="_csrf" value="')[2].partition('"')[0]

    answer = await browser.client.post(
        "/console/logout", data={"_csrf": token}, headers={"Sec-Fetch-Site": "same-origin"}
    )

    assert answer.status_code == 303
    assert answer.headers["location"] == "/console/login"
