import signal
import socket
import sys
import urllib.request
from collections.abc import Callable

import pytest

from leaseforge_cli.exits import ExitCode
from tests.support import Process, eventually_sync, free_port

Start = Callable[..., Process]


@pytest.fixture
def server(processes: Start, redis_url: str) -> Start:
    def start(**env: str | None) -> Process:
        settings = {
            "LEASEFORGE_REDIS_URL": redis_url,
            "LEASEFORGE_AUTH_SECRET": "for-this-test-only-and-no-secret-of-anything",
            "LEASEFORGE_API_ADDR": f"127.0.0.1:{free_port()}",
        }
        command = [sys.executable, "-c", "from leaseforge_cli.main import main; main()", "server"]
        return processes(command, env=settings | env)

    return start


def test_it_serves_until_sigterm_and_ends_well(server: Start) -> None:
    port = free_port()
    running = server(LEASEFORGE_API_ADDR=f"127.0.0.1:{port}")

    def lives() -> bool:
        running.check_running()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    eventually_sync(lives, within_s=60)
    running.signal(signal.SIGTERM)

    assert running.wait() == ExitCode.OK


@pytest.mark.parametrize(
    ("env", "code", "said"),
    [
        ({"LEASEFORGE_AUTH_SECRET": None}, ExitCode.SETTINGS, "LEASEFORGE_AUTH_SECRET: is required"),
        (
            {"LEASEFORGE_AUTH_SECRET": "short", "LEASEFORGE_API_ADDR": "x"},
            ExitCode.SETTINGS,
            "2 wrong settings: LEASEFORGE_API_ADDR: must be host:port",
        ),
        ({"LEASEFORGE_REDIS_URL": "unix:///nowhere/redis.sock"}, ExitCode.STORE_UNAVAILABLE, "not available"),
    ],
)
def test_what_is_wrong_is_one_line_and_its_own_exit_code(
    server: Start, env: dict[str, str | None], code: ExitCode, said: str
) -> None:
    failed = server(**env)

    assert failed.wait(within_s=60) == code
    assert said in failed.output()
    assert "Traceback" not in failed.output()


def test_a_taken_address_is_told(server: Start) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        failed = server(LEASEFORGE_API_ADDR=f"127.0.0.1:{port}")

        assert failed.wait() == ExitCode.ADDRESS_IN_USE

    assert failed.output().startswith(f"leaseforge: port {port} is in use")
