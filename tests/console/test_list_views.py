from dataclasses import replace
from typing import Any

from leaseforge.jobs import JobState
from leaseforge.reads import Page
from leaseforge.statistics import Rate, TypeShape
from leaseforge.workers import WorkerState
from leaseforge_console.views import overview, queue, queues, workers
from leaseforge_console.views.snapshot import Snapshot
from tests.console import sample


def test_the_overview_sums_up_states_and_ranks_backlog_and_runs() -> None:
    snapshot = sample.snapshot(
        sample.queue("a", ready=5, running=1, dead=1, oldest_s=2),
        sample.queue("b", ready=50, completed=9, oldest_s=60),
        sample.worker(running=(sample.run("short", 2), sample.run("long", 90))),
        sample.worker(id="gone", state=WorkerState.LOST, running=(sample.run("stale", 999),)),
    )

    page = overview.build(snapshot, sample.reading(*[10] * 90), 900)

    assert {stat.state: stat.count for stat in page.stats}[JobState.READY] == 55
    assert [stat.state for stat in page.stats if stat.alarm] == [JobState.DEAD]
    assert [row.name for row in page.backlog] == ["b", "a"]
    assert [run.id for run in page.longest] == ["long", "short"]
    assert page.summary == "2 queues · 1 worker · 16 slots, 2 busy"


def test_failing_types_come_before_slow_ones() -> None:
    def shape(name: str, failed: int, run_class: int) -> TypeShape:
        run = tuple(int(index == run_class) for index in range(16))
        return TypeShape(name, 100 - failed, failed, 0, run, run)

    reading = replace(sample.reading(), shapes={"q": [shape("fast", 0, 3), shape("slow", 0, 14), shape("bad", 18, 5)]})

    page = overview.build(sample.snapshot(), reading, 900)

    assert [row.name for row in page.types] == ["bad", "slow", "fast"]


def test_the_step_that_is_not_over_is_not_drawn() -> None:
    snapshot = sample.snapshot(sample.queue())

    chart = overview.throughput_chart(sample.throughput(10, 10, 1, until_s=-5), snapshot)

    assert chart is not None
    assert [slot.values[0] for slot in chart.slots] == ["1.0", "1.0"]


def test_a_long_time_is_drawn_in_longer_steps_without_losing_jobs() -> None:
    snapshot = sample.snapshot(sample.queue())

    chart = overview.throughput_chart(sample.throughput(*[4] * 360), snapshot)

    assert chart is not None
    assert len(chart.slots) == 90
    assert {slot.values[0] for slot in chart.slots} == {"0.4"}


def test_an_installation_without_queues_is_empty() -> None:
    page = overview.build(Snapshot.of([], []), sample.reading(), 900)

    assert page.empty
    assert page.chart is None


def test_a_queue_row_knows_slots_and_misses_workers() -> None:
    snapshot = sample.snapshot(
        sample.queue("mail", ready=1),
        sample.queue("media", ready=1),
        sample.worker("mail"),
        sample.worker("mail", id="2"),
    )

    rows = {row.name: row for row in queues.build(snapshot).rows}

    assert (rows["mail"].slots, rows["mail"].unserved) == (32, False)
    assert (rows["media"].slots, rows["media"].unserved) == (0, True)


def test_the_purge_form_freezes_what_is_shown_and_asks_for_a_word_above_a_thousand() -> None:
    small, large = (queues.purge_form(sample.queue(ready=count), "key") for count in (1000, 1001))

    assert (small.frozen.count, small.frozen.sequence, small.word) == (1000, 77, None)
    assert large.word == "purge"


def test_the_word_is_checked_against_the_count_that_was_shown() -> None:
    def is_refused(count: int, word: str) -> bool:
        sent = queues.PurgeSent(sequence=1, as_of_ms=1, count=count, seal="", word=word)
        return queues.problem_of(sent.frozen("q"), sent, "key") is not None

    assert is_refused(1001, "")
    assert is_refused(1001, "no")
    assert not is_refused(1001, " Purge ")
    assert not is_refused(1000, "")


def test_a_confirmation_counts_only_for_the_set_and_the_session_it_was_shown_to() -> None:
    form = queues.purge_form(sample.queue("q", ready=3), "session one")
    sent = queues.PurgeSent(form.frozen.sequence, form.frozen.as_of_ms, form.frozen.count, form.seal)

    assert queues.is_as_shown(sent.frozen("q"), sent, "session one")
    assert not queues.is_as_shown(sent.frozen("q"), sent, "session two")
    assert not queues.is_as_shown(sent.frozen("other"), sent, "session one")
    larger = replace(sent, sequence=sent.sequence + 1)
    assert not queues.is_as_shown(larger.frozen("q"), larger, "session one")


def test_a_queue_opens_on_the_first_state_that_holds_something() -> None:
    def first(**counts: Any) -> JobState:
        return queue.first_state(queues.row(sample.queue("q", paused=False, **counts), sample.snapshot()))

    assert first(ready=1, dead=1) is JobState.READY
    assert first(dead=3, completed=5) is JobState.DEAD
    assert first() is JobState.COMPLETED


def test_pages_of_a_list_know_where_they_are() -> None:
    snapshot = sample.snapshot(sample.queue("billing", dead=120))
    jobs = tuple(sample.job(JobState.DEAD, id=f"id-{number}") for number in range(50))

    reading = queue.Reading(Page(jobs, 120, 50, 50), sample.throughput(), Rate(0, 0))
    page = queue.build("billing", JobState.DEAD, reading, snapshot)

    assert page.pages.text == "51\N{EN DASH}100 of 120 jobs"
    assert page.pages.previous == "/queues/billing?state=dead"
    assert page.pages.following == "/queues/billing?state=dead&offset=100"


def test_lost_workers_come_first() -> None:
    snapshot = sample.snapshot(
        sample.queue(), sample.worker(id="fine", host="a"), sample.worker(id="gone", host="b", state=WorkerState.LOST)
    )

    assert [row.id for row in workers.build(snapshot).rows] == ["gone", "fine"]


def test_a_queue_tells_when_it_would_be_drained() -> None:
    def drained(rate: Rate, **fields: Any) -> tuple[str, str]:
        info = sample.queue("q", **fields)
        reading = queue.Reading(Page((), 0, 0, 50), sample.throughput(), rate)
        page = queue.build("q", JobState.READY, reading, sample.snapshot(info, sample.worker("q")))
        return page.figures[-1].value, page.figures[-1].note

    assert drained(Rate(1, 3), ready=120) == ("~1 min", "at the present rates")
    assert drained(Rate(3, 1), ready=120) == ("\N{EN DASH}", "it grows by 2.0/s")
    assert drained(Rate(1, 1), ready=120)[1] == "as much comes as goes"
    assert drained(Rate(1, 3), ready=0)[1] == "nothing waits"
    assert drained(Rate(1, 3), ready=9, paused=True)[1] == "it is paused"


def test_each_count_of_the_overview_leads_to_its_list() -> None:
    page = overview.build(sample.snapshot(), sample.reading(), 900)

    assert {stat.state.value: stat.path for stat in page.stats} == {
        "ready": "/jobs?state=ready",
        "running": "/jobs?state=running",
        "scheduled": "/delayed?state=scheduled",
        "retrying": "/delayed?state=retrying",
        "completed": "/jobs?state=completed",
        "dead": "/dead",
        "cancelled": "/jobs?state=cancelled",
    }
    assert [each.label for each in page.ranges] == ["15 min", "1 h", "24 h", "7 d"]
