"""`leaseforge probe` against something that answers as it is told, and its addresses against those of the settings."""

import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from leaseforge.settings import address
from leaseforge_api.settings import HttpSettings
from leaseforge_cli.exits import CommandFailed, ExitCode
from leaseforge_cli.probe import ADDRESSES, where
from leaseforge_worker.settings import WorkerSettings
from tests.cli.conftest import Run
from tests.support import free_port


class Part(BaseHTTPRequestHandler):
    """Lives, but Redis is away."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/livez" else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), Part) as answering:
        thread = Thread(target=answering.serve_forever)
        thread.start()
        yield answering.server_port
        answering.shutdown()
        thread.join()


@pytest.mark.parametrize("part", sorted(ADDRESSES))
def test_what_lives_is_not_ready_without_redis(part: str, port: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESSES[part][0], f":{port}")

    alive, ready = run("probe", part), run("probe", part, "--ready")

    assert (alive.code, alive.out) == (ExitCode.OK, f"{part}: alive\n")
    assert (ready.code, ready.out) == (ExitCode.FAILED, "")
    assert f"the {part} answers 503 to /ready" in ready.err


def test_nobody_there_is_a_no(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASEFORGE_API_ADDR", f"127.0.0.1:{free_port()}")

    ended = run("probe", "server")

    assert ended.code == ExitCode.FAILED
    assert "no answer from the server at 127.0.0.1" in ended.err


def test_a_wrong_address_is_told_as_the_part_itself_would(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASEFORGE_METRICS_ADDR", "nonsense")

    ended = run("probe", "worker")

    assert ended.code == ExitCode.SETTINGS
    assert "LEASEFORGE_METRICS_ADDR: must be host:port" in ended.err


def test_addresses_are_those_the_parts_listen_on() -> None:
    defaults = {
        "server": HttpSettings.__dataclass_fields__["api_addr"],
        "worker": WorkerSettings.__dataclass_fields__["metrics_address"],
    }

    for part, (variable, default) in ADDRESSES.items():
        assert defaults[part].metadata["setting"].env == variable
        assert defaults[part].default == address(default) == where(part, {})


@pytest.mark.parametrize(
    ("text", "asked"),
    [(":80", ("127.0.0.1", 80)), ("[::]:80", ("::1", 80)), ("10.0.0.1:80", ("10.0.0.1", 80))],
)
def test_every_interface_is_reached_by_loopback(text: str, asked: tuple[str, int]) -> None:
    assert where("server", {"LEASEFORGE_API_ADDR": text}) == asked


def test_a_worker_that_listens_nowhere_cannot_be_asked() -> None:
    with pytest.raises(CommandFailed, match="is off"):
        where("worker", {"LEASEFORGE_METRICS_ADDR": "off"})


def test_asking_does_not_load_the_web_framework_nor_redis() -> None:
    script = "import sys, leaseforge_cli.probe; print([name for name in ('litestar', 'redis') if name in sys.modules])"

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert "litestar" not in found.stdout
