"""Servers with single sign-on, providers that are real programs, and a browser that goes between them."""

import html
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest
import redis
from litestar import Litestar

from leaseforge.store import Store, connect
from leaseforge_api.app import create_app
from leaseforge_api.settings import ServerSettings
from leaseforge_auth.audit.entries import Entry
from leaseforge_auth.audit.search import Filter, search
from tests.sso.providers.fake import CLIENT_ID, CLIENT_SECRET, FakeProvider, fake_provider
from tests.sso.providers.running import CALLBACK, HOME, RealProvider, canaille, oidc_provider
from tests.support import OwnServer

SECRET = "a secret of more than thirty-two bytes"
HTML = {"Accept": "text/html,application/xhtml+xml"}
_FORM = re.compile(r"<form([^>]*)>(.*?)</form>", re.DOTALL)
_ACTION = re.compile(r'action="([^"]*)"')
_INPUT = re.compile(r"<input([^>]*)>")


@pytest.fixture(scope="module")
def redis_url(server: OwnServer) -> str:
    return server.clean_database()


@pytest.fixture(scope="module")
async def store(redis_url: str) -> AsyncIterator[Store]:
    connected = connect(redis_url, retry_s=1.0)
    yield connected
    await connected.aclose()


@pytest.fixture(autouse=True)
def _clean(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as raw:
        raw.flushdb()


@pytest.fixture(scope="session")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealProvider]:
    """The certified provider: signs with Ed25519, names its issuer on the way back, tells e-mail by userinfo only."""
    with oidc_provider(tmp_path_factory.mktemp("oidc-provider")) as running:
        yield running


@pytest.fixture(scope="session")
def simple(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealProvider]:
    """Canaille: signs with RSA, has groups, and never says whether an address is verified."""
    with canaille(tmp_path_factory.mktemp("canaille")) as running:
        yield running


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    """A provider that says what the test wants."""
    async with fake_provider() as running:
        yield running


@dataclass
class Browser:
    """A browser as far as logins need one: keeps cookies, fills in forms, follows redirects, knows where it is."""

    client: httpx.AsyncClient
    visited: list[httpx.Response] = field(default_factory=list)

    async def open(self, url: str) -> httpx.Response:
        """Opens an address, follows what it leads to, and answers with the page in the end."""
        return await self._follow(await self.client.get(url, headers=HTML))

    async def submit(self, page: httpx.Response, **filled: str) -> httpx.Response:
        """Sends the page's first form."""
        found = _FORM.search(page.text)
        assert found is not None, page.text
        hidden = {}
        for tag in _INPUT.findall(found[2]):
            names = dict(re.findall(r'(\w+)="([^"]*)"', tag))
            if names.get("type") == "hidden" and "name" in names:
                hidden[names["name"]] = names.get("value", "")
        action = _ACTION.search(found[1])
        target = urljoin(str(page.url), html.unescape(action[1]) if action else str(page.url))
        return await self._follow(await self.client.post(target, data=hidden | filled, headers=HTML))

    async def follow_until(self, url: str, stop_at: str) -> str:
        """Follows redirects until one leads to an address that begins like `stop_at`, which is not visited."""
        answer = await self.client.get(url, headers=HTML)
        while answer.has_redirect_location:
            onward = urljoin(str(answer.url), answer.headers["location"])
            if onward.startswith(stop_at):
                return onward
            answer = await self.client.get(onward, headers=HTML)
        raise AssertionError(f"never led to {stop_at}, but to {answer.url}: {answer.text[:500]}")

    async def _follow(self, answer: httpx.Response) -> httpx.Response:
        self.visited = [answer]
        while answer.has_redirect_location:
            assert len(self.visited) < 20, "redirects without end"
            onward = urljoin(str(answer.url), answer.headers["location"])
            if urlsplit(onward).hostname not in ("127.0.0.1", "localhost"):
                return answer
            answer = await self.client.get(onward, headers=HTML)
            self.visited.append(answer)
        return answer


@dataclass
class Site:
    """A server of ours with single sign-on, and browsers to visit it."""

    app: Litestar
    stack: AsyncExitStack

    async def browser(self) -> Browser:
        """A browser with no cookies yet."""
        ours = httpx.ASGITransport(app=cast(Any, self.app), raise_app_exceptions=False)
        mounts: Mapping[str, httpx.AsyncBaseTransport] = {HOME: ours}
        client = httpx.AsyncClient(mounts=mounts, base_url=HOME, timeout=30.0)
        return Browser(await self.stack.enter_async_context(client))


@dataclass
class AtFake:
    """A login that has been led to the fake provider, and may come back."""

    site: Site
    provider: FakeProvider
    browser: Browser
    asked: dict[str, str]

    async def come_back(self, browser: Browser | None = None, **query: str) -> httpx.Response:
        """The way back to our callback, with a code and the right state unless told otherwise."""
        sent = {"code": "code", "state": self.asked["state"]} | query
        client = (browser or self.browser).client
        return await client.get(
            "/api/auth/oidc/callback", params={name: value for name, value in sent.items() if value}
        )


async def begin(
    site: Site, provider: FakeProvider, *, return_to: str = "/console", browser: Browser | None = None
) -> AtFake:
    """Begins a login at the fake provider."""
    chosen = browser or await site.browser()
    answer = await chosen.client.get("/api/auth/oidc/login", params={"return_to": return_to})
    assert answer.status_code == 303, answer.text
    return AtFake(site, provider, chosen, query_of(answer.headers["location"]))


Serve = Callable[..., Awaitable[Site]]


@pytest.fixture
async def serve(store: Store, _clean: None) -> AsyncIterator[Serve]:
    """Starts a server: `await serve(provider, ADMIN_EMAILS="ada@example.com")`, names without LEASEFORGE_OIDC_."""
    async with AsyncExitStack() as stack:

        async def start(
            provider: RealProvider | FakeProvider | str, others: Mapping[str, str] | None = None, **oidc: str
        ) -> Site:
            own = _settings_of(provider)
            settings = {"LEASEFORGE_AUTH_SECRET": SECRET} | {
                f"LEASEFORGE_OIDC_{name}": value for name, value in {"REDIRECT_URL": CALLBACK, **own, **oidc}.items()
            }
            app = create_app(ServerSettings.read(settings | dict(others or {})), store)
            await stack.enter_async_context(app.lifespan())
            return Site(app, stack)

        yield start


async def log_in(
    browser: Browser, provider: RealProvider, name: str, *, return_to: str = "/console/workers"
) -> httpx.Response:
    """Logs somebody in from our login address to the page in the end."""
    page = await browser.open(f"/api/auth/oidc/login?return_to={return_to}")
    end: httpx.Response = await provider.log_in(browser, page, name)
    return end


def _settings_of(provider: RealProvider | FakeProvider | str) -> Mapping[str, str]:
    if isinstance(provider, str):
        return {"ISSUER": provider}
    if isinstance(provider, FakeProvider):
        return {"ISSUER": provider.issuer, "CLIENT_ID": CLIENT_ID, "CLIENT_SECRET": CLIENT_SECRET}
    return provider.settings


async def audited(store: Store) -> list[Entry]:
    """What the audit trail has of logins by single sign-on, newest first."""
    found = await search(store, Filter(action="login.sso"), before=None, limit=100)
    return [row.entry for row in found.rows if row.entry is not None]


def query_of(url: str) -> dict[str, str]:
    """The parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
