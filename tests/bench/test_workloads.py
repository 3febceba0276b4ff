"""Every workload runs, accounts for its jobs, and keeps what it measured; how fast it was is for people to judge."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import WORKLOADS
from bench.goals import GOALS
from leaseforge.server_binary import BUNDLED, find_binary
from tests.support import unavailable

ROOT = Path(__file__).parents[2]
COSTS = {"seconds", "per_second", "redis_us", "commands", "scripts", "python_us"}
LATENCIES = {"p50_ms", "p99_ms", "max_ms"}
EXTRA = {"wake-up at 50 jobs/s": LATENCIES, "retry until dead": {"attempts"}}
IDLE = {"seconds", "requests_per_second", "python_ms_per_second", "redis_ms_per_second"}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What a run of everything with very few jobs printed and kept."""
    if find_binary(BUNDLED) is None:
        unavailable("the bundled server (extra 'local') is not installed")
    folder = tmp_path_factory.mktemp("results")
    command = [sys.executable, "-m", "bench", "--jobs", "100", "--rounds", "1", "--results", str(folder)]

    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=800, check=False)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    [file] = folder.glob("*.json")
    return ended.stdout, json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.timeout(840)
@pytest.mark.parametrize("work", WORKLOADS, ids=lambda work: work.name)
def test_a_workload_is_measured_beside_its_floor(measured: tuple[str, dict[str, Any]], work: Any) -> None:
    printed, kept = measured

    run = kept["runs"][work.name]

    assert run["jobs"] == work.jobs(100)
    assert not run["failures"]
    assert f"\n{work.name}" in printed
    expected = IDLE if work.floor is None else COSTS | EXTRA.get(work.name, set())
    [ours] = run["ours"]
    assert set(ours) == expected
    assert all(value >= 0 for value in ours.values())
    if work.floor is not None:
        [floor] = run["floor"]
        assert set(floor) == expected
        # Each job took a script call's share and time on both sides, so neither side was skipped.
        assert all(side[figure] > 0 for side in (ours, floor) for figure in COSTS)
        assert kept["medians"][work.name]["ratio"] > 0


@pytest.mark.timeout(840)
def test_each_goal_is_judged(measured: tuple[str, dict[str, Any]]) -> None:
    printed, _ = measured

    lines = printed[printed.index("\ngoals:\n") :].splitlines()[2 : 2 + len(GOALS)]

    assert [line.split()[0] in {"holds", "MISSED"} for line in lines] == [True] * len(GOALS)


@pytest.mark.timeout(300)
def test_a_profile_says_which_parts_take_a_workers_time() -> None:
    if find_binary(BUNDLED) is None:
        unavailable("the bundled server (extra 'local') is not installed")

    ended = subprocess.run(
        [sys.executable, "-m", "bench", "--profile", "--jobs", "5000", "--rounds", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "us of CPU a job" in ended.stdout
    by_part = ended.stdout.split("by part")[1].split("by library")[0]
    assert "  leaseforge" in by_part
