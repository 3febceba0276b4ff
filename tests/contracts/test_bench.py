"""The benchmark runs and keeps what it measured; how fast it was is for people to judge."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from leaseforge.server_binary import BUNDLED, find_binary
from tests.support import unavailable

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(180)
def test_every_workload_is_measured_beside_its_floor(tmp_path: Path) -> None:
    if find_binary(BUNDLED) is None:
        unavailable("the bundled server (extra 'local') is not installed")
    command = [sys.executable, "-m", "bench", "--jobs", "1000", "--rounds", "1", "--results", str(tmp_path)]

    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150, check=False)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    [file] = tmp_path.glob("*.json")
    runs = json.loads(file.read_text())["runs"]
    assert sorted(runs) == ["drain", "enqueue, bulk", "enqueue, one by one"]
    for sides in runs.values():
        assert [len(sides[side]) for side in ("ours", "floor")] == [1, 1]
        assert all(run["per_second"] > 0 for side in sides.values() for run in side)
    for name in runs:
        assert f"\n{name} " in ended.stdout
