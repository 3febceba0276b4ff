"""Every route of a running server, as its OpenAPI document describes it: requests by the hundred.

Schemathesis makes them and checks each answer: no fault, the status and the body that are documented, wrong data
refused, right data taken.
"""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api.conftest import PASSWORD, SECRET
from tests.support import Process, eventually_sync, free_port

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
LEASEFORGE = Path(sys.executable).with_name("leaseforge")

# Nothing is left out without a reason:
LEFT_OUT = (
    ("--exclude-path", "/api/events"),  # a stream that does not end; test_events.py reads it
    ("--exclude-path", "/api/auth/logout"),  # ends the very token all other requests are sent with
    ("--exclude-path", "/api/tokens/{token_id}"),  # the same, as soon as the list of tokens was read
    # Cursors are what a list gave out, and some fields exclude each other: no schema says so. What is right data is
    # shown by the examples, which other tests hold.
    ("--exclude-checks", "positive_data_acceptance"),
)


class Admin:
    """A server of its own, and a service token that may do everything and that no account's end takes along."""

    def __init__(self, processes: Callable[..., Process], redis_url: str) -> None:
        self.port = free_port()
        self.server = processes(
            [LEASEFORGE, "server"],
            env={
                "LEASEFORGE_AUTH_SECRET": SECRET,
                "LEASEFORGE_REDIS_URL": redis_url,
                "LEASEFORGE_API_ADDR": f"127.0.0.1:{self.port}",
                "LEASEFORGE_ADMIN_PASSWORD": PASSWORD,
                "LEASEFORGE_LOG_LEVEL": "info",
            },
        )
        eventually_sync(self._is_ready, within_s=60)
        login = self.call("POST", "/api/auth/login", {"username": "admin", "password": PASSWORD})
        self.token = login["access_token"]
        asked = {"name": "schema", "kind": "service", "role": "admin"}
        self.token = self.call("POST", "/api/tokens", asked)["token"]

    token = ""

    def _is_ready(self) -> bool:
        self.server.check_running()
        try:
            return bool(self.call("GET", "/ready")["status"] == "ready")
        except OSError:
            return False

    def call(self, method: str, path: str, body: object = None) -> dict[str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer: dict[str, str] = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def examine(self, *options: str, within_s: float) -> None:
        """Runs schemathesis; what it finds is the test's failure."""
        document = Path(self.server.output_file).with_name("openapi.json")
        document.write_text(json.dumps(self.call("GET", "/api/openapi.json")), encoding="utf-8")
        argv: list[str | Path] = [SCHEMATHESIS, "run", document, "--url", f"http://127.0.0.1:{self.port}"]
        argv += ["--header", f"Authorization: Bearer {self.token}", "--checks", "all", "--no-color"]
        argv += [word for pair in LEFT_OUT for word in pair]
        argv += ["--generation-database", "none", "--request-timeout", "20", *options]
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=within_s, check=False, cwd=document.parent)
        assert ran.returncode == 0, ran.stdout[-15_000:] + ran.stderr[-2_000:]
        self.server.check_running()
        assert self.call("GET", "/api/auth/me")["username"] == "service:schema", "the token was lost on the way"
        assert "request_failed" not in self.server.output()


@pytest.fixture
def admin_of(processes: Callable[..., Process], redis_url: str) -> Admin:
    return Admin(processes, redis_url)


@pytest.mark.timeout(400)
def test_the_server_does_what_its_description_says(admin_of: Admin) -> None:
    admin_of.examine(
        "--phases", "examples,coverage,fuzzing", "--max-examples", "5", "--max-time", "60", "--seed", "1", within_s=380
    )


@pytest.mark.soak
@pytest.mark.timeout(1_300)
def test_the_server_does_what_its_description_says_for_long(admin_of: Admin) -> None:
    seed = str(int(time.time()))
    admin_of.examine("--max-examples", "60", "--max-time", "900", "--seed", seed, within_s=1_200)
