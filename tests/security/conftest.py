"""Whole servers, as processes, to be attacked."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import httpx
import pytest

from tests.support import Process, eventually_sync, free_port

SECRET = "a secret for these tests of more than thirty-two bytes"
PASSWORD = "correct horse battery"


def leaseforge(*arguments: str) -> list[str]:
    """The command line of the `leaseforge` command."""
    return [sys.executable, "-c", "from leaseforge_cli.main import main; main()", *arguments]


@dataclass(frozen=True)
class Running:
    """A server process and where it answers."""

    process: Process
    url: str

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=30)

    def login(self, username: str = "admin", password: str = PASSWORD) -> dict[str, str]:
        with self.client() as client:
            answer = client.post("/api/auth/login", json={"username": username, "password": password})
        assert answer.status_code == 200, answer.text
        return {"Authorization": f"Bearer {answer.json()['access_token']}"}


Serve = Callable[..., Running]


@pytest.fixture
def serve(processes: Callable[..., Process], redis_url: str) -> Serve:
    """Starts a server: `serve(AUTH_TTL="1h")`; settings without their prefix."""

    def start(**settings: str) -> Running:
        port = free_port()
        environ = {
            "REDIS_URL": redis_url,
            "AUTH_SECRET": SECRET,
            "ADMIN_PASSWORD": PASSWORD,
            "API_ADDR": f"127.0.0.1:{port}",
        }
        process = processes(
            leaseforge("server"), env={f"LEASEFORGE_{name}": value for name, value in (environ | settings).items()}
        )
        running = Running(process, f"http://127.0.0.1:{port}")

        def answers() -> bool:
            process.check_running()
            try:
                return httpx.get(f"{running.url}/ready", timeout=5).status_code == 200
            except httpx.HTTPError:
                return False

        eventually_sync(answers, within_s=60)
        return running

    return start
