"""The README's lines work when they are pasted, and its links lead somewhere."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leaseforge import Client, reads
from leaseforge.isolation import Isolation
from leaseforge.jobs import JobState
from leaseforge.store import SyncStore
from leaseforge_cli.exits import ExitCode
from leaseforge_worker.loader import load_tasks
from tests.support import Process, eventually_sync, free_port, unavailable

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.timeout(240)


def blocks(section: str, language: str) -> list[str]:
    text = README.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_five_minutes_work_as_printed(
    tmp_path: Path, redis_url: str, sync_store: SyncStore, processes: Callable[..., Process]
) -> None:
    if not all(shutil.which(program) for program in ("bash", "curl", "python3")):
        unavailable("the printed lines need bash, curl and python3")
    start, submit, by_command, steer, own_tasks, own_job, _in_parts = blocks("Five minutes", "sh")
    [variable] = re.findall(r"^(LEASEFORGE_ADMIN_PASSWORD)=(\S+) make run$", start.strip())
    write_tasks, _, start_own = own_tasks.strip().rpartition("\n")
    assert start_own == ".venv/bin/leaseforge dev mytasks"
    subprocess.run(["bash", "-euc", write_tasks], cwd=tmp_path, timeout=30, check=True)
    port = free_port()
    running = processes(
        [sys.executable, "-c", "from leaseforge_cli.main import main; main()", "dev", "mytasks"],
        cwd=tmp_path,
        env={
            variable[0]: variable[1],
            "LEASEFORGE_REDIS_URL": redis_url,
            "LEASEFORGE_API_ADDR": f"127.0.0.1:{port}",
            "LEASEFORGE_METRICS_ADDR": "127.0.0.1:0",
            "LEASEFORGE_DEMO_LOAD": "0",
        },
    )
    running.wait_for_output("Leaseforge is running", within_s=60)
    eventually_sync(lambda: sync_store.run(reads.workers()).items)

    script = (submit + steer + own_job).replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    pasted = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, timeout=60)

    assert pasted.returncode == 0, pasted.stdout + pasted.stderr
    told = (submit + by_command).replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    commands = told.replace(".venv/bin/leaseforge", f"{sys.executable} -m leaseforge_cli")
    by_hand = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], capture_output=True, text=True, timeout=90)
    # Whether the load was taken at its rate is the machine's affair.
    assert by_hand.returncode in (0, ExitCode.RATE_NOT_HELD), by_hand.stdout + by_hand.stderr
    assert "100 of 100" in by_hand.stdout
    answers = [json.loads(line) for line in pasted.stdout.splitlines()]
    assert [answer for answer in answers if "title" in answer and "status" in answer] == []
    running.wait_for_output("worker was ended by SIGKILL; starting it again")
    email = answers[-1]["id"]
    eventually_sync(lambda: sync_store.run(reads.job(email)).state is JobState.COMPLETED, within_s=60)
    result = sync_store.run(reads.job(email)).result
    assert result == b'"sent to ada@example.com, attempt 1"'
    running.signal(signal.SIGINT)
    assert running.wait(within_s=60) == 0


def test_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, redis_url: str) -> None:
    [tasks] = re.findall(r"<<'PYTHON'\n(.*?)^PYTHON$", "".join(blocks("Five minutes", "sh")), re.MULTILINE | re.DOTALL)
    isolated, middleware, trial, program, producer = blocks("Five minutes", "python")
    (tmp_path / "mytasks.py").write_text(tasks + isolated + middleware)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        loaded = load_tasks(["mytasks"], folder=tmp_path)
        assert [type(one).__name__ for one in loaded.around("send_email")] == ["Announced"]
        prime = loaded.get("largest_prime_below")
        assert prime is not None
        assert prime.isolation == Isolation(memory_mb=512, cpu_s=60)
        assert prime(None, 100) == 97
        namespace: dict[str, Any] = {}
        exec(trial, namespace)
        namespace["test_a_mail_is_sent"]()
        for example in (program, producer):
            assert "redis://127.0.0.1:6379/0" in example
            exec(example.replace("redis://127.0.0.1:6379/0", redis_url), {})
    finally:
        sys.modules.pop("mytasks", None)

    with Client(redis_url) as client:
        assert client.queue("mail").counts[JobState.READY] == 1


def test_relative_links_of_every_page_lead_to_a_file() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    broken = []
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")

    assert broken == []


def test_the_test_command_of_the_readme_is_the_one_ci_runs() -> None:
    [command] = blocks("Working on it", "sh")

    assert command.strip() in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
