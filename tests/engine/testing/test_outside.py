"""The testing package in a project of an author's own: its own pytest run, its own conftest."""

import os
import subprocess
import sys
from pathlib import Path

CONFTEST = 'pytest_plugins = ["leaseforge.testing.fixtures"]\n'
TASKS = """
from leaseforge import Context, task


@task(max_attempts=2)
def shout(ctx: Context, payload: str) -> str:
    ctx.log("shouting")
    return payload.upper()
"""
TESTS = """
import time

from leaseforge import Client, JobState
from leaseforge.testing import run_task
from leaseforge_worker.worker import Worker
from mytasks import shout


def test_without_redis():
    trial = run_task(shout, "hello")
    assert (trial.state, trial.result, trial.log) == (JobState.COMPLETED, "HELLO", ("shouting",))


def test_with_a_server(leaseforge_client, leaseforge_url):
    job_id = leaseforge_client.enqueue("shout", "hello").id
    with Worker.of([shout], redis_url=leaseforge_url):
        while leaseforge_client.job(job_id).state is not JobState.COMPLETED:
            time.sleep(0.02)
    assert leaseforge_client.job(job_id).result == b'"HELLO"'


def test_the_next_test_finds_nothing(leaseforge_client):
    assert leaseforge_client.queues() == []


def test_the_server_is_the_sessions(leaseforge_url, leaseforge_server_url):
    assert leaseforge_url == leaseforge_server_url
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "LEASEFORGE_"))}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # an author has other plugins than we have
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=100, check=False
    )


def test_an_authors_own_test_run_uses_the_fixtures(tmp_path: Path) -> None:
    for name, text in {"conftest.py": CONFTEST, "mytasks.py": TASKS, "test_mytasks.py": TESTS}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")

    done = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'temp'}")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    assert not processes_in(tmp_path)


def processes_in(folder: Path) -> list[str]:
    """Processes that still work below this folder: a server's current folder is its data."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            where = link.readlink()
        except OSError:
            continue
        if where.is_relative_to(folder):
            found.append(str(link))
    return found


def test_tasks_can_be_tried_where_pytest_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "mytasks.py").write_text(TASKS)
    program = (
        "import sys\n"
        "sys.modules['pytest'] = sys.modules['_pytest'] = None\n"
        "from leaseforge.testing import run_task\n"
        "from mytasks import shout\n"
        "print(run_task(shout, 'hello').result)\n"
    )

    done = run(tmp_path, "-c", program)

    assert (done.returncode, done.stdout) == (0, "HELLO\n"), done.stderr
