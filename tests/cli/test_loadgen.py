"""A steady load of demo jobs: every job has its moment, and what is told is what the server counted."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from leaseforge import reads
from leaseforge.jobs import JobState
from leaseforge.store import SyncStore
from leaseforge_cli.exits import ExitCode
from leaseforge_cli.loadgen import is_held
from leaseforge_cli.loadgen_mix import KINDS, Mix
from leaseforge_cli.loadgen_run import Load, Tally
from leaseforge_cli.loadgen_run import Run as LoadRun
from leaseforge_cli.logins import Door
from tests.cli.conftest import LEASEFORGE, Api, Run
from tests.support import Process, eventually_sync, free_port

UNDERWAY = (JobState.READY, JobState.RUNNING, JobState.SCHEDULED, JobState.RETRYING)


def test_the_servers_counts_agree_with_the_generators_to_the_job(
    run: Run, api: Api, api_store: SyncStore, processes: Callable[..., Process]
) -> None:
    environment = {"LEASEFORGE_REDIS_URL": api.redis_url, "LEASEFORGE_METRICS_ADDR": "off"}
    worker = [*LEASEFORGE, "worker", "--demo", "--queues", "cli.load"]
    processes(worker, env=environment | {"LEASEFORGE_TOKEN": None, "LEASEFORGE_API_URL": None})
    flags = "-rate 60 -concurrency 4 -duration 2s -echo 60 -sleep 20 -fail 12 -delay 8 -sleep-max-ms 50"

    ended = run("loadgen", *flags.split(), "-queue", "cli.load", "--json")

    # How fast this machine is decides whether the rate was held, and nothing else.
    assert ended.code in (ExitCode.OK, ExitCode.RATE_NOT_HELD)
    told = ended.json()
    assert told["requests"] == told["stored"] == sum(told["stored_by_kind"].values()) == 120
    assert told["errors"] == {}
    assert len(told["ids"]) == 5
    queue = api_store.run(reads.queue("cli.load"))
    assert queue.totals["enqueued"] == 120
    assert sum(queue.counts.values()) == 120

    by_kind = Counter(told["stored_by_kind"])

    def has_come_to_rest() -> bool:
        counts = api_store.run(reads.queue("cli.load")).counts
        return counts[JobState.COMPLETED] >= by_kind["echo"] + by_kind["sleep"]

    eventually_sync(has_come_to_rest, within_s=60)
    counts = api_store.run(reads.queue("cli.load")).counts
    assert counts[JobState.COMPLETED] <= by_kind["echo"] + by_kind["sleep"] + by_kind["delay"]
    assert counts[JobState.COMPLETED] + counts[JobState.DEAD] + sum(counts[state] for state in UNDERWAY) == 120
    job = run("jobs", "show", told["ids"][0], "--json").json()
    assert (job["queue"], job["tags"]) == ("cli.load", ["loadgen"])


def test_both_spellings_of_flags_are_understood(run: Run, api: Api) -> None:
    flags = "--rate 50 --concurrency=2 --duration 0.2 -echo=1 --sleep 0 -fail 0 -delay 0 --queue cli.flags"

    told = run("loadgen", *flags.split(), "--json").json()

    assert told["stored_by_kind"] == {"echo": 10}


def test_the_summary_is_for_people_unless_json_is_asked_for(run: Run, api: Api) -> None:
    ended = run("loadgen", "-rate", "20", "-duration", "0.2", "-queue", "cli.summary")

    assert [line.split()[0] for line in ended.out.splitlines()] == [
        "rate",
        "requests",
        "stored",
        "repeated",
        "latency",
        "errors",
        "ids",
    ]


def test_refused_requests_are_counted_by_kind_and_end_it_badly(run: Run, api: Api) -> None:
    ended = run("loadgen", "-rate", "100", "-duration", "0.1", "-queue", "not a queue", "--json")

    assert ended.code == ExitCode.FAILED
    assert ended.json()["errors"] == {"400 invalid-request": 10}
    assert "10 of 10 requests failed, the first with: queue: must be 1 to 64" in ended.err


@pytest.mark.parametrize("weights", ["-echo 0 -sleep 0 -fail 0 -delay 0", "-echo -1", "-rate 0", "-duration 0"])
def test_a_load_that_makes_no_sense_is_a_wrong_command_line(run: Run, api: Api, weights: str) -> None:
    assert run("loadgen", *weights.split()).code == ExitCode.USAGE


def test_a_token_that_does_not_count_is_told_before_anything_is_sent(
    run: Run, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEASEFORGE_TOKEN", "lf_wrong")

    assert run("loadgen", "-duration", "0.1").code == ExitCode.NOT_LOGGED_IN


def test_a_server_that_is_away_is_told(run: Run, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASEFORGE_API_URL", f"http://127.0.0.1:{free_port()}")

    assert run("loadgen", "-duration", "0.1").code == ExitCode.API_UNAVAILABLE


def test_leaving_early_stops_the_senders(api: Api, api_store: SyncStore) -> None:
    mix = Mix({"echo": 1, "sleep": 0, "fail": 0, "delay": 0}, "cli.early", 0)
    load = LoadRun(Load(50, 60, 2), mix, Door(api.url, api.token))

    steps = load.carry_out()
    eventually_sync(lambda: next(steps).sent > 0)
    steps.close()  # type: ignore[attr-defined]  # a generator

    eventually_sync(lambda: sum(load.tally.accepted.values()) == load.tally.sent)
    assert load.tally.sent < 3000


def tally(rate: float, sent_at: list[float]) -> Tally:
    made = Tally(0.0, rate)
    for moment in sent_at:
        made.send(moment)
    return made


def test_a_rate_is_held_if_all_went_out_in_time() -> None:
    load = Load(rate=100, duration_s=1, concurrency=1)
    on_time = [number / 100 for number in range(100)]

    assert tally(100, on_time).achieved() == pytest.approx(100)
    assert is_held(load, tally(100, on_time))
    assert is_held(load, tally(100, [*on_time[:-1], 1.005]))
    assert not is_held(load, tally(100, [*on_time[:-1], 1.05]))
    assert not is_held(load, tally(100, on_time[:-1]))


def test_percentiles_are_exact_to_two_percent_and_never_beyond_the_longest() -> None:
    made = Tally(0.0, 1.0)
    for number in range(1, 1001):
        made.accept("echo", str(number), number / 1000)

    for share in (0.5, 0.95, 0.99):
        assert share <= made.percentile(share) <= share * 1.02
    assert made.percentile(1.0) == made.max_s == 1.0
    assert len(made.sample) == 5
    assert Tally(0.0, 1.0).percentile(0.5) == 0.0


def test_kinds_are_as_frequent_as_their_weights() -> None:
    mix = Mix({"echo": 60, "sleep": 20, "fail": 12, "delay": 8}, "q", 4000)
    source = random.Random(7)

    picked = [mix.pick(number, source) for number in range(10_000)]

    counts = Counter(kind for kind, _ in picked)
    assert {kind: round(counts[kind] / 100) for kind in KINDS} == {"echo": 60, "sleep": 20, "fail": 12, "delay": 8}
    for kind, job in picked:
        assert job["type"] == ("echo" if kind == "delay" else kind)
        assert ("delay_seconds" in job) == (kind == "delay")
        assert kind != "sleep" or 0 <= job["payload"]["duration_ms"] <= 4000
