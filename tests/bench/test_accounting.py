"""A workload that loses jobs, leaves some or never ends is an error, whatever its figures."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner

from bench import __main__ as command
from bench import measuring
from bench.bare import BareLoop
from bench.filling import account, count_stored, fill
from bench.goals import Goal
from bench.measuring import Figures, Meter
from bench.processes import BareSpec
from bench.server import QUEUE, Bench, WorkloadFailed
from bench.workload import Workload
from leaseforge import Client, JobState
from leaseforge.store import SyncStore


@pytest.fixture
def bench(redis_url: str, tmp_path: Path) -> Iterator[Bench]:
    """The test's own database as a bench."""
    with redis.Redis.from_url(redis_url) as raw:
        yield Bench(redis_url, raw, "the session's server", tmp_path)


def run_bare(bench: Bench, store: SyncStore, *, batch: int = 7, fails: bool = False) -> int:
    return sum(map(len, BareLoop(store, BareSpec(bench.url, batch, fails=fails)).batches()))


def test_the_bare_loop_completes_each_job_once(bench: Bench, sync_store: SyncStore) -> None:
    fill(bench, "nothing", 30)

    claimed = run_bare(bench, sync_store)

    assert claimed == 30
    account(bench, 30)
    assert bench.ended(JobState.COMPLETED) == 30


def test_the_bare_loop_runs_jobs_to_death_in_three_attempts(bench: Bench, sync_store: SyncStore) -> None:
    fill(bench, "fails", 10)

    claimed = run_bare(bench, sync_store, fails=True)

    assert claimed == 30
    account(bench, 10, state=JobState.DEAD)


def test_a_job_left_over_is_an_error(bench: Bench, sync_store: SyncStore) -> None:
    fill(bench, "nothing", 5)
    BareLoop(sync_store, BareSpec(bench.url, 2)).exchange(2)

    with pytest.raises(WorkloadFailed, match=r"'ready': 3.*'running': 2|'running': 2.*'ready': 3"):
        account(bench, 5)


def test_a_lost_job_is_an_error(bench: Bench, sync_store: SyncStore) -> None:
    fill(bench, "nothing", 5)
    count_stored(bench, 5)
    run_bare(bench, sync_store)

    with pytest.raises(WorkloadFailed, match="6 jobs should be completed"):
        account(bench, 6)
    with pytest.raises(WorkloadFailed, match="5 jobs should be ready"):
        count_stored(bench, 5)


def test_a_dead_job_is_no_completed_one(bench: Bench, sync_store: SyncStore) -> None:
    fill(bench, "nothing", 5)
    run_bare(bench, sync_store, fails=True)

    with pytest.raises(WorkloadFailed, match="'dead': 5"):
        account(bench, 5)


def test_work_that_stands_still_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "STILL_FOR_S", 0.05)

    with pytest.raises(WorkloadFailed, match="3 of 4 jobs are completed"):
        measuring.until(lambda: 3, 4, what="jobs are completed")


def test_only_what_jobs_caused_is_counted(bench: Bench) -> None:
    with Client(bench.url) as client:
        client.enqueue("nothing", None, queue=QUEUE)
        meter = Meter(bench)
        bench.ended(JobState.COMPLETED)
        bench.raw.evalsha(bench.raw.script_load("return redis.call('PING')"), 0)
        bench.raw.ping()

        figures = meter.stop(1)

    # SCRIPT LOAD, EVALSHA, the PING inside it, and PING: neither INFO nor the look.
    assert figures["commands"] == 4
    assert figures["scripts"] == 1


@pytest.mark.parametrize(
    ("value", "at_least", "verdict"),
    [(0.7, True, "holds"), (0.5, True, "MISSED"), (0.5, False, "holds"), (0.7, False, "MISSED")],
)
def test_a_goal_is_judged_by_its_bound(value: float, at_least: bool, verdict: str) -> None:
    goal = Goal("speed", "drain", "ratio", 0.6, at_least=at_least)

    assert verdict in goal.judge({"drain": {"ratio": value}})
    assert "not measured" in goal.judge({"other": {"ratio": value}})


def test_one_failed_workload_ends_with_status_1_and_the_others_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def sound(_bench: Bench, jobs: int) -> Figures:
        return {"per_second": float(jobs), "redis_us": 1.0, "commands": 1.0, "python_us": 1.0}

    def broken(_bench: Bench, jobs: int) -> Figures:
        raise WorkloadFailed(f"one of {jobs} was lost")

    works = (Workload("sound", sound, sound), Workload("broken", broken, sound))
    monkeypatch.setattr(command, "WORKLOADS", works)

    ended = CliRunner().invoke(command.main, ["--quick", "--jobs", "40", "--results", str(tmp_path)])

    assert ended.exit_code == 1, ended.output
    assert "broken: FAILED: round 1: one of 40 was lost" in ended.output
    assert "sound " in ended.output
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_an_unknown_workload_is_a_usage_error() -> None:
    ended = CliRunner().invoke(command.main, ["--only", "no such thing"])

    assert ended.exit_code == 2
    assert "enqueue, in bulk" in ended.output


def test_an_interrupted_run_keeps_what_it_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[int] = []

    def impatient(_bench: Bench, jobs: int) -> Figures:
        seen.append(jobs)
        if len(seen) > 2:
            raise KeyboardInterrupt
        return {"per_second": float(jobs), "redis_us": 1.0, "commands": 1.0, "python_us": 1.0}

    monkeypatch.setattr(command, "WORKLOADS", (Workload("short", impatient, impatient),))

    ended = CliRunner().invoke(command.main, ["--jobs", "40", "--rounds", "5", "--results", str(tmp_path)])

    assert ended.exit_code == 1, ended.output
    assert "short: FAILED: interrupted" in ended.output
    [file] = tmp_path.glob("*.json")
    assert '"per_second": 40.0' in file.read_text(encoding="utf-8")
