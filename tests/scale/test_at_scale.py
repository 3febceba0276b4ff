"""Everything of the engine over a queue of millions; what it takes is printed and kept, never asserted."""

import json
import os
from pathlib import Path

import pytest

from tests.scale import retrying
from tests.scale.__main__ import FEW, RESULTS, measure, measure_lists, measure_retry
from tests.scale.scenario import SMALL, Size


def test_the_scenario_goes_through_with_thousands(tmp_path: Path) -> None:
    rows = measure("embedded", SMALL, results=tmp_path)

    kept = json.loads((tmp_path / "scale-embedded.json").read_text("utf-8"))
    assert [row["name"] for row in kept["rows"]] == [row.name for row in rows]
    assert sum(row.name.startswith("read:") for row in rows) >= 15


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_million_jobs() -> None:
    server = os.environ.get("LEASEFORGE_TEST_SERVER", "embedded")

    measure(server, Size())

    assert (RESULTS / f"scale-{server}.json").is_file()


def test_the_lists_are_walked_through_with_thousands(tmp_path: Path) -> None:
    rows = measure_lists(
        "embedded", FEW, only=("/api/jobs?state=", "/api/dlq", "/api/workers"), repeats=1, results=tmp_path
    )

    kept = json.loads((tmp_path / "scale-lists-embedded.json").read_text("utf-8"))
    found = {row["path"]: row["items"] for row in kept["rows"]}
    assert len(found) == len(rows)
    assert {state: found[f"/api/jobs?state={state}"] for state in FEW.shares} == {
        state: round(FEW.jobs * share) for state, share in FEW.shares.items()
    }


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_bulk_retry_under_use_and_with_its_server_killed_acts_once_on_each_job(tmp_path: Path) -> None:
    rows = measure_retry("embedded", retrying.SMALL, results=tmp_path)

    assert [row.done for row in rows if row.name.startswith("retrying")] == [retrying.SMALL.jobs] * 2
