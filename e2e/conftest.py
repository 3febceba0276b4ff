"""Fixtures of the browser stories. They run in a process of their own: `pytest e2e`."""

import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from e2e.console import Console
from e2e.product import ADMIN, Product, running
from e2e.watching import Watch
from tests.support import unavailable

FLAGS = [
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# How long a story waits for what should appear; a loaded machine is no failure of the product.
PATIENCE_MS = 20_000
_ARTIFACTS = Path(__file__).parent / "artifacts"


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The installation all stories share; each story uses queues of its own."""
    with running(tmp_path_factory.mktemp("product")) as product:
        yield product


@pytest.fixture
def worker(product: Product) -> Iterator[None]:
    """A worker that serves every queue, for the time of the story."""
    product.start_worker()
    yield
    product.stop_workers()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium: the machine's own, else the one Playwright brought."""
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if found is None and not Path(playwright.chromium.executable_path).exists():
            unavailable("no Chromium on this machine: `make browser` installs one")
        expect.set_options(timeout=PATIENCE_MS)
        launched = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def sessions() -> dict[tuple[str, tuple[str, str]], Any]:
    """The browser state of everybody who logged in, by installation and user."""
    return {}


@pytest.fixture
def visit(
    browser: Browser, product: Product, sessions: dict[tuple[str, tuple[str, str]], Any], request: pytest.FixtureRequest
) -> Iterator[Callable[..., Console]]:
    """Opens a browser window of somebody's own: `visit(width=360, scripted=False)`. Every window is watched.

    Windows of one user share a session, as tabs do; a story that ends its session asks for one `anew`.
    """
    windows: list[Console] = []

    def open_window(
        *,
        login: tuple[str, str] | None = ADMIN,
        width: int = 1280,
        scripted: bool = True,
        at: Product | None = None,
        anew: bool = False,
    ) -> Console:
        installation = at or product
        context = browser.new_context(
            viewport={"width": width, "height": 740 if width < 700 else 900},
            java_script_enabled=scripted,
            storage_state=None if anew or login is None else sessions.get((installation.url, login)),
        )
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        console = Console(page, Watch(page, scripted=scripted), installation.url)
        windows.append(console)
        if login is not None:
            console.open()
            if "/login" in page.url:
                console.log_in(*login)
                expect(console.heading()).to_have_text("Overview")
                if not anew:
                    sessions[installation.url, login] = context.storage_state()
        return console

    yield open_window
    for number, window in enumerate(windows):
        if request.node.stash.get(_FAILED, False):
            _keep(window.page, request.node.name, number)
        window.page.context.close()
    problems = [problem for window in windows for problem in window.watch.problems]
    assert not problems, "\n".join(problems)


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remembers that a story failed, so that its windows are kept as pictures."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


def _keep(page: Page, name: str, number: int) -> None:
    _ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=_ARTIFACTS / f"{name}-{number}.png", full_page=True)
