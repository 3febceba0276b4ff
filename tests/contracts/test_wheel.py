"""The wheel as its users get it: everything in it, nothing beside it, and no clash with a task author's own modules.

`make build` runs this on the wheel it made (LEASEFORGE_TEST_WHEEL) with freshly installed packages; otherwise a wheel
is built here and borrows the packages of the developer's environment, so that the test needs no network.
"""

import json
import os
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leaseforge import operations, reads
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from tests.support import Process, eventually_sync, free_port, unavailable

ROOT = Path(__file__).parents[2]
# Package -> the folder of this repository that holds it.
PACKAGES = {
    "leaseforge": "engine",
    "leaseforge_api": "api",
    "leaseforge_auth": "auth",
    "leaseforge_cli": "cli",
    "leaseforge_console": "console",
    "leaseforge_worker": "worker",
}
# Names a task author is likely to use, each of them also the name of a folder of this repository.
AUTHORS_MODULES = ("api", "auth", "cli", "console", "engine", "static", "templates", "tests", "worker")

pytestmark = pytest.mark.timeout(300)


def run(*command: str | Path, cwd: Path | None = None) -> str:
    # Without PYTHONPATH and the like: what is tested is the environment, not ours.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LEASEFORGE"))}
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("LEASEFORGE_TEST_WHEEL")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def contents(wheel: Path) -> frozenset[str]:
    with zipfile.ZipFile(wheel) as archive:
        return frozenset(archive.namelist())


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a fresh environment that has the wheel and what it needs."""
    environment = tmp_path_factory.mktemp("installed") / "venv"
    try:
        run(sys.executable, "-m", "venv", environment)
    except AssertionError as error:
        unavailable(f"this Python cannot make virtual environments with pip: {error}")
    python = environment / "bin" / "python"
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    if os.environ.get("LEASEFORGE_TEST_WHEEL"):
        run(*pip, "--require-hashes", "-r", ROOT / "requirements.lock")
    else:
        purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        # A .pth file is not read in a folder that another one named: the editable checkout stays out.
        borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        (Path(purelib) / "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    run(*pip, "--no-index", wheel)
    return environment / "bin"


@pytest.fixture
def authors_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in AUTHORS_MODULES:
        (folder / f"{name}.py").write_text(f'WHOSE = "{name} of the author"\n')
    imports = "\n".join(f"import {name}" for name in AUTHORS_MODULES)
    listed = ", ".join(f"{name}.WHOSE" for name in AUTHORS_MODULES)
    (folder / "mytasks.py").write_text(
        f"{imports}\n\nfrom leaseforge import task\n\n\n"
        f"@task\nasync def whose(ctx, payload: dict):\n    return [{listed}]\n"
    )
    return folder


def files(folder: Path) -> Iterator[str]:
    for file in (ROOT / folder).rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file.relative_to(ROOT / folder).as_posix()


def test_the_wheel_holds_our_packages_and_nothing_beside_them(contents: frozenset[str]) -> None:
    top = {name.split("/")[0] for name in contents if ".dist-info/" not in name}

    assert top == PACKAGES.keys()
    assert {f"{package}/py.typed" for package in PACKAGES} <= contents
    assert not [name for name in contents if "__pycache__" in name or name.endswith(".pyc")]


def test_every_module_script_page_and_asset_is_in_the_wheel(contents: frozenset[str]) -> None:
    expected = set()
    for folder in ("templates", "static"):
        expected |= {f"leaseforge_console/{folder}/{name}" for name in files(Path(folder))}
    for package, source_root in PACKAGES.items():
        expected |= {f"{package}/{name}" for name in files(Path(source_root, package))}

    assert expected - contents == set()
    assert any(name.endswith(".lua") for name in expected)


def test_the_licence_travels_along(contents: frozenset[str], wheel: Path) -> None:
    [licence] = [name for name in contents if name.endswith(".dist-info/licenses/LICENSE")]

    with zipfile.ZipFile(wheel) as archive:
        assert b"Apache License" in archive.read(licence)


def test_an_authors_own_modules_run_under_the_installed_worker(
    scripts: Path, authors_folder: Path, redis_url: str, sync_store: SyncStore, processes: Callable[..., Process]
) -> None:
    processes(
        [scripts / "leaseforge", "worker", "mytasks", "--queues", "default"],
        cwd=authors_folder,
        env={"LEASEFORGE_REDIS_URL": redis_url, "LEASEFORGE_METRICS_ADDR": "off", "PYTHONPATH": None},
    )

    enqueued = sync_store.run(operations.enqueue(new_job("whose", {})))

    def completed() -> bool:
        return sync_store.run(reads.job(enqueued.id)).state is JobState.COMPLETED

    eventually_sync(completed, within_s=60)
    result = sync_store.run(reads.job(enqueued.id)).result
    assert result is not None
    assert json.loads(result) == [f"{name} of the author" for name in AUTHORS_MODULES]


def test_the_installed_server_serves_pages_and_assets_from_an_authors_folder(
    scripts: Path, authors_folder: Path, redis_url: str, processes: Callable[..., Process]
) -> None:
    port = free_port()
    server = processes(
        [scripts / "leaseforge", "server"],
        cwd=authors_folder,
        env={
            "LEASEFORGE_REDIS_URL": redis_url,
            "LEASEFORGE_API_ADDR": f"127.0.0.1:{port}",
            "LEASEFORGE_AUTH_SECRET": "only-for-this-test-and-not-a-secret-of-anything",
            "PYTHONPATH": None,
        },
    )

    def get(path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def ready() -> bool:
        server.check_running()
        try:
            return "ready" in get("/ready")
        except OSError:
            return False

    eventually_sync(ready, within_s=60)
    page = get("/console/login")
    assert "<form" in page
    stylesheet = page.split('rel="stylesheet" href="')[1].split('"')[0]
    assert "{" in get(stylesheet)


def test_the_installed_command_names_its_version(scripts: Path, wheel: Path) -> None:
    assert run(scripts / "leaseforge", "version").startswith(f"leaseforge {wheel.name.split('-')[1]}\n")
