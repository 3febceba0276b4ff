"""The examples run as their README says."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from leaseforge import reads
from leaseforge.jobs import JobState
from leaseforge.store import SyncStore
from tests.support import Process, eventually_sync

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_examples_do_what_they_say(
    tmp_path: Path, redis_url: str, sync_store: SyncStore, processes: Callable[..., Process]
) -> None:
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    env = {"LEASEFORGE_REDIS_URL": redis_url}
    command = [sys.executable, "-c", "from leaseforge_cli.main import main; main()", "worker", "ledger_tasks"]
    processes([*command, "--queues", "ledger", "--metrics-addr", "off"], cwd=folder, env=env)

    printed = subprocess.run(
        [sys.executable, "produce.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=True
    )

    made = [line.split() for line in printed.stdout.splitlines()]
    assert [answer for _, answer in made] == ["created", "duplicate", *["created"] * 4]
    ids = [job_id for job_id, _ in made]
    assert ids[0] == ids[1]
    ended = (JobState.COMPLETED, JobState.DEAD)
    eventually_sync(lambda: all(sync_store.run(reads.job(one)).state in ended for one in ids), within_s=30)
    jobs = [sync_store.run(reads.job(one)) for one in ids]
    assert [job.state for job in jobs] == [*[JobState.COMPLETED] * 5, JobState.DEAD]
    assert jobs[0].result == b'{"total_cents":1250}'
    assert jobs[2].result == b'"reminded ada at attempt 1"'
    assert jobs[5].failures == 1
