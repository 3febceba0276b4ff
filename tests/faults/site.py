"""The API and the console on a test's own Redis, with somebody logged in who may do everything."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from leaseforge.store import connect
from leaseforge_api.app import create_app
from leaseforge_api.settings import ServerSettings
from leaseforge_auth import calls
from leaseforge_auth.roles import Role
from tests.api.conftest import PASSWORD, PASSWORD_HASH, SECRET, browse
from tests.console.browsing import Visitor

STATES = ("ready", "running", "scheduled", "retrying", "completed", "dead", "cancelled")


@dataclass(frozen=True, slots=True)
class Site:
    """A program that uses the API, and a person who looks at the console."""

    api: httpx.AsyncClient
    console: Visitor

    async def enqueue(self, type: str = "work", payload: object = None) -> httpx.Response:
        """Asks for one job."""
        return await self.api.post("/api/jobs", json={"type": type, "payload": payload})

    async def refused_pages(self, *queues: str, job_ids: tuple[str, ...] = ()) -> list[str]:
        """Opens every list and page there is for these queues and jobs; those not answered with 200.

        A job may be unknown: then 404 is right.
        """
        found = [
            *[
                await self._api(path)
                for path in ("/api/queues", "/api/workers", "/api/system/stats", "/ready", "/metrics")
            ],
            *[await self._page(path) for path in ("", "/queues", "/workers")],
        ]
        for queue in queues:
            found += [
                await self._api(f"/api/queues/{queue}"),
                *[await self._api(f"/api/queues/{queue}/jobs?state={state}&limit=100") for state in STATES],
                *[await self._page(f"/queues/{queue}?state={state}") for state in STATES],
                await self._page(f"/queues/{queue}/purge"),
            ]
        for job_id in job_ids:
            found += [await self._api(f"/api/jobs/{job_id}", 404), await self._page(f"/jobs/{job_id}", 404)]
        return [problem for problem in found if problem]

    async def _api(self, path: str, *also: int) -> str:
        return _judge(path, await self.api.get(path), *also)

    async def _page(self, path: str, *also: int) -> str:
        return _judge(f"/console{path}", await self.console.get(f"/console{path}"), *also)


@asynccontextmanager
async def a_site(url: str, *, retry_s: float = 1.0) -> AsyncIterator[Site]:
    """A server process's application, called in this loop."""
    async with connect(url, retry_s=retry_s) as store:
        app = create_app(ServerSettings.read({"LEASEFORGE_AUTH_SECRET": SECRET}), store)
        await store.run(calls.declare_account("chief", password_hash=PASSWORD_HASH, roles=[Role.ADMIN]))
        async with app.lifespan(), browse(app) as api, browse(app) as browser:
            login = await api.post("/api/auth/login", json={"username": "chief", "password": PASSWORD})
            api.headers["Authorization"] = f"Bearer {login.json()['access_token']}"
            visitor = Visitor(browser)
            await visitor.get("/console/login")
            entered = await visitor.post("/console/login", username="chief", password=PASSWORD)
            assert entered.status_code == 303, entered.text
            yield Site(api, visitor)


def _judge(path: str, answer: httpx.Response, *also: int) -> str:
    return "" if answer.status_code in (200, *also) else f"{path}: {answer.status_code} {answer.text[:300]}"
