"""The whole product behind a proxy with TLS, by the samples of deploy/proxy: own host, prefix kept, prefix stripped.

nginx always; Caddy and Traefik in the long run, where they are installed (`.ci/ensure proxies`).
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from leaseforge.store import Store, connect
from leaseforge_api.app import create_app
from leaseforge_api.serve import listen, server_of
from leaseforge_api.settings import ServerSettings
from leaseforge_auth.audit.search import Filter, search
from tests.api.conftest import PASSWORD, SECRET
from tests.api.support import report_worker
from tests.console.browsing import Visitor
from tests.deploy.caddy import caddy
from tests.deploy.nginx import nginx
from tests.deploy.proxies import StartProxy, Way
from tests.deploy.traefik import traefik
from tests.sso.providers.fake import CLIENT_ID, CLIENT_SECRET, FakeProvider, fake_provider
from tests.support import OwnServer, free_port

SITES = [
    pytest.param((start, way), id=f"{start.__name__}{way}", marks=() if start is nginx else pytest.mark.soak)
    for start in (nginx, caddy, traefik)
    for way in Way
]
DETOURS = ("/metrics/", "/metrics//", "//metrics", "/%6Detrics", "/metrics%2F", "/./metrics", "/x/../metrics")
"""Other ways to write an address that proxies keep to themselves."""
CALLER = "127.0.0.2"
"""Where clients come from: not where the proxy comes from, so that the two can be told apart."""
_LINK = re.compile(r'(?:href|src|action|hx-get|hx-post|hx-sse:connect)="(/[^"]*)"')


@dataclass(frozen=True)
class Site:
    """A server behind a proxy, somebody's browser, and a program that has a token. `prefix` is that of addresses."""

    origin: str
    prefix: str
    plain_url: str
    trust: ssl.SSLContext
    program: httpx.AsyncClient
    direct: httpx.AsyncClient
    provider: FakeProvider
    store: Store
    browser: httpx.AsyncClient

    @property
    def visitor(self) -> Visitor:
        """The browser, with forms."""
        return Visitor(self.browser)

    def at(self, path: str) -> str:
        """A path of the server as a browser knows it."""
        return f"{self.prefix}{path}"


@pytest.fixture(scope="module", params=SITES)
async def shared(
    request: pytest.FixtureRequest, server: OwnServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Site]:
    """The server, behind each proxy, each way it can be set up."""
    start, way = request.param
    folder = tmp_path_factory.mktemp("proxy")
    async with (
        connect(server.clean_database()) as store,
        fake_provider() as provider,
        AsyncExitStack() as stack,
    ):
        yield await _start(stack, store, provider, folder, start, way)


@pytest.fixture
async def site(shared: Site) -> AsyncIterator[Site]:
    """The same, visited by a browser without cookies."""
    async with _client(shared.trust, shared.origin) as browser:
        yield replace(shared, browser=browser)


def _client(trust: ssl.SSLContext, base_url: str) -> httpx.AsyncClient:
    transport = httpx.AsyncHTTPTransport(verify=trust, local_address=CALLER)
    return httpx.AsyncClient(transport=transport, base_url=base_url, timeout=60)


async def _start(
    stack: AsyncExitStack, store: Store, provider: FakeProvider, folder: Path, start: StartProxy, way: Way
) -> Site:
    prefix = "" if way is Way.OWN_HOST else "/jobs"
    port = free_port()
    origin = f"https://localhost:{port}"
    settings = ServerSettings.read(
        {
            "LEASEFORGE_AUTH_SECRET": SECRET,
            "LEASEFORGE_ADMIN_PASSWORD": PASSWORD,
            "LEASEFORGE_WEB_URL": f"{origin}{prefix}",
            "LEASEFORGE_ROOT_PATH": prefix,
            "LEASEFORGE_TRUSTED_PROXIES": "127.0.0.1",
            "LEASEFORGE_OIDC_ISSUER": provider.issuer,
            "LEASEFORGE_OIDC_CLIENT_ID": CLIENT_ID,
            "LEASEFORGE_OIDC_CLIENT_SECRET": CLIENT_SECRET,
            "LEASEFORGE_OIDC_ADMIN_EMAILS": "ada@example.com",
        }
    )
    inner = await stack.enter_async_context(_serving(settings, store))
    proxy = stack.enter_context(start(folder / "proxy", [inner], way=way, port=port))
    trust = ssl.create_default_context(cafile=str(proxy.ca_file))
    program = await stack.enter_async_context(_client(trust, origin))
    login = await program.post(f"{prefix}/api/auth/login", json={"username": "admin", "password": PASSWORD})
    assert login.status_code == 200, login.text
    program.headers["Authorization"] = f"Bearer {login.json()['access_token']}"
    direct = await stack.enter_async_context(_client(trust, f"http://127.0.0.1:{inner}"))
    return Site(origin, prefix, proxy.plain_url, trust, program, direct, provider, store, program)


@asynccontextmanager
async def _serving(settings: ServerSettings, store: Store) -> AsyncIterator[int]:
    """The server on a loopback port, in this loop."""
    app = create_app(settings, store)
    with listen(("127.0.0.1", 0)) as listening:
        server = server_of(app, settings)
        # Without the signal handlers of `serve`: they are the test run's.
        running = asyncio.create_task(server._serve([listening]))
        while not server.started:
            assert not running.done(), "the server did not start"
            await asyncio.sleep(0.01)
        yield listening.getsockname()[1]
        app.state.stop.set()
        server.should_exit = True
        await running


async def log_in(site: Site) -> Visitor:
    """Fills in the login form."""
    visitor = site.visitor
    await visitor.get(site.at("/console/login"))
    entered = await visitor.post(site.at("/console/login"), username="admin", password=PASSWORD)
    assert (entered.status_code, entered.headers["location"]) == (303, site.at("/console"))
    return visitor


async def test_a_person_logs_in_and_everything_on_the_page_is_where_it_says(site: Site) -> None:
    visitor = await log_in(site)

    [cookie] = [each for each in site.browser.cookies.jar if each.name.startswith(("__Host-", "__Secure-"))]
    assert cookie.secure
    page = await visitor.get(site.at("/console/queues"))
    assert page.status_code == 200
    assert page.headers["strict-transport-security"]
    links = {link.partition("#")[0] for link in _LINK.findall(page.text)}
    assert all(link.startswith(site.at("/")) for link in links), links
    static = {link for link in links if "/static/" in link}
    pages = {link for link in re.findall(r'<a [^>]*href="([^"#]*)"', page.text) if link.startswith("/")}
    assert static
    for link in static | pages:
        assert (await site.browser.get(link)).status_code == 200, link


async def test_the_start_leads_to_the_console(site: Site) -> None:
    answer = await site.browser.get(site.at("") or "/")
    while answer.has_redirect_location:
        assert answer.headers["location"].startswith((f"{site.prefix}/", f"{site.origin}{site.prefix}/"))
        answer = await site.browser.get(answer.headers["location"])

    assert (answer.status_code, answer.url.path) == (200, site.at("/console/login"))


async def test_forms_need_their_token_and_come_from_our_own_pages(site: Site) -> None:
    visitor = await log_in(site)
    await site.program.post(site.at("/api/jobs"), json={"type": "echo", "queue": "mail"})
    await visitor.get(site.at("/console/queues/mail/pause"))
    path = site.at("/console/queues/mail/pause")

    assert (await visitor.post(path, csrf=False)).status_code == 403
    assert (await visitor.post(path, origin="cross-site")).status_code == 403
    # A browser without Sec-Fetch-Site is known by its Origin: the public one, whatever the proxy calls itself inside.
    form = {"_csrf": visitor.token}
    foreign = await site.browser.post(path, data=form, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    own = await site.browser.post(path, data=form, headers={"Origin": site.origin})
    assert own.status_code == 303, own.text
    assert own.headers["location"].startswith(site.at("/console"))
    assert (await site.program.get(site.at("/api/queues/mail"))).json()["paused"]


@pytest.mark.parametrize("topic", ["console", "api"])
async def test_streams_are_not_held_back(site: Site, topic: str) -> None:
    if topic == "console":
        await log_in(site)
    client = site.browser if topic == "console" else site.program
    path = site.at("/console/live/queues" if topic == "console" else "/api/events?topics=queues")

    async with client.stream("GET", path) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        heard = ""
        is_told = False
        async for text in stream.aiter_text():
            heard += text
            if not is_told:
                # The stream is open, its beginning is here: what happens now has to come through while it stays open.
                await site.program.post(site.at("/api/jobs"), json={"type": "echo", "queue": "heard.now"})
                is_told = True
            if "heard.now" in heard:
                break

    assert "heard.now" in heard


async def test_the_api_says_where_it_is_and_its_page_works(site: Site) -> None:
    await log_in(site)

    document = (await site.program.get(site.at("/api/openapi.json"))).json()
    page = await site.browser.get(site.at("/console/api"))

    assert document["servers"] == [{"url": site.prefix or "/"}]
    assert page.status_code == 200
    assert "data:" in page.headers["content-security-policy"]
    files = [link for link in _LINK.findall(page.text) if "/static/" in link]
    assert any("swagger" in link for link in files), files
    for link in files:
        assert (await site.browser.get(link)).status_code == 200, link


async def test_paths_arrive_as_they_were_sent(site: Site) -> None:
    made = await site.program.post(site.at("/api/jobs"), json={"type": "echo"})
    job_id = made.json()["id"]
    assert made.headers["location"] == site.at(f"/api/jobs/{job_id}")
    assert (await site.program.get(made.headers["location"])).json()["id"] == job_id

    # TaskForge's paths begin like the prefix.
    told = await site.program.get(site.at(f"/jobs/{job_id}"))
    assert (told.status_code, told.json()["id"]) == (200, job_id)
    await report_worker(site.store, "host/1")
    worker = await site.program.get(site.at("/api/workers/host%2F1"))
    assert (worker.status_code, worker.json()["id"]) == (200, "host/1")


async def test_a_large_body_is_the_servers_business(site: Site) -> None:
    job = {"type": "echo", "payload": "x" * 2_000_000}

    refused = await site.program.post(site.at("/api/jobs"), json=job)

    assert (refused.status_code, refused.headers["content-type"]) == (413, "application/problem+json")


async def test_single_sign_on_leads_there_and_back(site: Site) -> None:
    visitor = site.visitor
    page = await visitor.get(site.at("/console/login"))
    assert f'href="{site.at("/api/auth/oidc/login")}' in page.text

    there = await site.browser.get(site.at("/api/auth/oidc/login?return_to=/console/workers"))
    asked = {name: values[0] for name, values in parse_qs(urlsplit(there.headers["location"]).query).items()}
    assert asked["redirect_uri"] == f"{site.origin}{site.prefix}/api/auth/oidc/callback"
    site.provider.answer_with(site.provider.sign(site.provider.claims(asked["nonce"])))
    back = await site.browser.get(asked["redirect_uri"], params={"code": "code", "state": asked["state"]})

    assert (back.status_code, back.headers["location"]) == (303, site.at("/console/workers"))
    workers = await site.browser.get(back.headers["location"])
    assert workers.status_code == 200
    assert "ada@example.com" in workers.text


async def test_only_the_proxy_is_believed_about_who_asks(site: Site) -> None:
    forged = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"}
    wrong = {"username": "admin", "password": "not the password"}

    through = await site.program.post(site.at("/api/auth/login"), json=wrong, headers=forged)
    past = await site.direct.post("/api/auth/login", json=wrong, headers=forged)

    assert (through.status_code, past.status_code) == (401, 401)
    found = await search(site.store, Filter(action="login"), before=None, limit=10)
    refusals = [row.entry for row in found.rows if row.entry is not None and row.entry.result != "ok"]
    assert [entry.address for entry in refusals] == [CALLER, CALLER]


async def test_only_the_proxy_is_believed_about_the_prefix(site: Site) -> None:
    job_id = (await site.program.post(site.at("/api/jobs"), json={"type": "echo"})).json()["id"]
    claim = {"X-Forwarded-Prefix": "/jobs", "Authorization": site.program.headers["Authorization"]}

    through = await site.program.get(site.at(f"/api/jobs/{job_id}"), headers=claim)
    past = await site.direct.get(f"{site.prefix}/api/jobs/{job_id}", headers=claim)

    assert (through.status_code, past.status_code) == (200, 200)


async def test_machines_addresses_stay_inside_and_plain_http_leads_to_tls(site: Site) -> None:
    for path in ("/metrics", "/livez", "/health", "/ready"):
        assert (await site.program.get(site.at(path))).status_code == 404
        assert (await site.direct.get(path)).status_code == 200
    found = []
    for path in DETOURS:
        request = site.program.build_request("GET", site.origin, extensions={"target": site.at(path).encode()})
        if (await site.program.send(request)).status_code < 300:
            found.append(path)
    assert found == []

    led = await site.browser.get(f"{site.plain_url}{site.at('/console')}")

    assert led.status_code in (301, 308)
    # nginx and Caddy count on https being at 443, and here it is not.
    assert led.headers["location"] in (f"{there}{site.at('/console')}" for there in ("https://localhost", site.origin))
