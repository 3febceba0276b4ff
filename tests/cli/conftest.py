"""A server that commands can be tried on, with an administrator."""

import io
import json
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from leaseforge.store import SyncStore, connect_sync
from leaseforge_cli.main import main
from tests.support import OwnServer, Process, eventually_sync, free_port

PASSWORD = "correct horse battery"
LEASEFORGE = (sys.executable, "-c", "from leaseforge_cli.main import main; main()")


@dataclass(frozen=True)
class Api:
    """A server process: where it is, a token of its administrator, its Redis."""

    url: str
    token: str
    redis_url: str


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def api_process(server: OwnServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One for all tests of a file: they keep to queues of their own."""
    redis_url, port = server.clean_database(), free_port()
    settings = {
        "LEASEFORGE_REDIS_URL": redis_url,
        "LEASEFORGE_AUTH_SECRET": "for-this-test-only-and-no-secret-of-anything",
        "LEASEFORGE_API_ADDR": f"127.0.0.1:{port}",
        "LEASEFORGE_ADMIN_PASSWORD": PASSWORD,
    }
    url = f"http://127.0.0.1:{port}"
    log = tmp_path_factory.mktemp("api") / "server.log"
    with Process([*LEASEFORGE, "server"], output_file=log, env=settings) as process:

        def token() -> str:
            process.check_running()
            body = json.dumps({"username": "admin", "password": PASSWORD}).encode()
            request = urllib.request.Request(f"{url}/api/auth/login", body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=5) as answer:
                    return str(json.load(answer)["access_token"])
            except OSError:
                return ""

        yield Api(url, eventually_sync(token, within_s=60), redis_url)


@pytest.fixture
def api(api_process: Api, monkeypatch: pytest.MonkeyPatch, config_home: Path) -> Api:
    """The server, and an environment in which commands use it."""
    monkeypatch.setenv("LEASEFORGE_API_URL", api_process.url)
    monkeypatch.setenv("LEASEFORGE_TOKEN", api_process.token)
    return api_process


@pytest.fixture
def api_store(api_process: Api) -> Iterator[SyncStore]:
    """The server's Redis."""
    connected = connect_sync(api_process.redis_url)
    yield connected
    connected.close()


@pytest.fixture
def config_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder of the test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, config_home: Path) -> Run:
    """Runs a command line in this process; `stdin` is what it may read, never a terminal."""

    def run(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr()
        return Ran(int(ended.value.code or 0), printed.out, printed.err)

    return run
