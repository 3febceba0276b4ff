"""The in-program example: the program gets its results and leaves nothing running."""

import subprocess
import sys
import threading
from pathlib import Path

from examples.in_program import count_words
from leaseforge import Client, JobState, reads

EXAMPLE = Path(__file__).parents[2] / "examples" / "in_program.py"


def test_a_program_gets_the_results_of_its_own_worker(redis_url: str) -> None:
    assert count_words(redis_url, ["one two three", ""]) == [3, 0]

    assert "worker" not in {thread.name for thread in threading.enumerate()}
    with Client(redis_url) as client:
        assert client.run(reads.workers()).total == 0
        assert client.queue("words").counts[JobState.COMPLETED] == 2


def test_it_runs_as_printed(redis_url: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env={"LEASEFORGE_REDIS_URL": redis_url},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "[6, 4]"
    assert done.stderr == ""
