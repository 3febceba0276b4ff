"""What a worker counts, as Prometheus reads it."""

from prometheus_client.parser import text_string_to_metric_families

from leaseforge.meters import MOST_SERIES, OTHER
from leaseforge.pulse import Pulse
from leaseforge_worker.merging import merged
from leaseforge_worker.metrics import Exposition, Gauges, Meters

GAUGES = Gauges(
    slots=4,
    running=2,
    buffered=1,
    held=3,
    abandoned=0,
    children=0,
    degraded=True,
    lease_s=10.0,
)


def a_pulse() -> Pulse:
    now = [100.0]
    pulse = Pulse(lambda: now[0])
    pulse.beat("tick")
    now[0] += 0.5
    for loop in ("tick", "tick", "exchange:mail", "exchange:load"):
        pulse.crashed(loop)
    return pulse


def text_of(meters: Meters) -> str:
    return Exposition(meters, a_pulse(), lambda: GAUGES).text().decode()


def samples(meters: Meters) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text_of(meters))
        for sample in family.samples
    }


def test_gauges_say_how_the_worker_stands() -> None:
    read = samples(Meters())

    assert read["leaseforge_worker_slots", ()] == 4
    assert read["leaseforge_active_workers", ()] == 2
    assert read["leaseforge_worker_degraded", ()] == 1
    assert read["leaseforge_worker_lease_seconds", ()] == 10
    assert read["leaseforge_loop_age_seconds", ("tick",)] == 0.5
    assert read["leaseforge_loop_crashes_total", ("tick",)] == 2
    assert read["leaseforge_loop_crashes_total", ("exchange",)] == 2


def test_counters_and_durations_are_exposed() -> None:
    meters = Meters(types=frozenset({"send"}), claimed=7, fenced=1)
    meters.ran("send", 0.003)
    meters.ran("send", 100.0)
    meters.ran("who?", 0.1)
    meters.called("claim", 0.0005)
    meters.waited("mail", 0.3)
    meters.waited("mail", -5.0)
    meters.ended("completed")

    read = samples(meters)

    assert read["leaseforge_worker_claimed_jobs_total", ()] == 7
    assert read["leaseforge_worker_fenced_writes_total", ()] == 1
    assert read["leaseforge_worker_settled_jobs_total", ("completed",)] == 1
    assert read["leaseforge_task_duration_seconds_count", ("send",)] == 2
    assert read["leaseforge_task_duration_seconds_bucket", ("0.005", "send")] == 1
    assert read["leaseforge_task_duration_seconds_bucket", ("300.0", "send")] == 2
    assert read["leaseforge_task_duration_seconds_count", ("other",)] == 1
    assert round(read["leaseforge_task_duration_seconds_sum", ("send",)], 3) == 100.003
    assert read["leaseforge_redis_claim_seconds_count", ()] == 1
    assert read["leaseforge_task_wait_seconds_bucket", ("0.005", "mail")] == 1
    assert read["leaseforge_task_wait_seconds_count", ("mail",)] == 2


def test_types_nobody_registered_share_one_series() -> None:
    meters = Meters(types=frozenset({"send"}))
    for number in range(1000):
        meters.ran(f"made-up-{number}", 0.01)

    assert list(meters.handlers.series) == [OTHER]


def test_queues_beyond_a_hundred_share_one_series() -> None:
    meters = Meters()
    for number in range(MOST_SERIES + 20):
        meters.waited(f"queue-{number}", 0.01)

    assert len(meters.waits.series) == MOST_SERIES + 1
    assert sum(meters.waits.series[OTHER].counts) == 20


def test_pages_of_several_processes_become_one_and_lose_nothing() -> None:
    first = Meters(types=frozenset({"send", 'od"d\n'}), claimed=7)
    first.ran("send", 0.003)
    first.ran('od"d\n', 0.5)
    second = Meters(types=frozenset({"send"}), claimed=5)
    second.ran("send", 100.0)
    pages = {
        "1": text_of(first),
        "12": text_of(second),
    }

    page = merged(pages).decode()

    read = {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }
    apart = sum(len(family.samples) for one in pages.values() for family in text_string_to_metric_families(one))
    assert len(read) == apart
    assert read["leaseforge_worker_claimed_jobs_total", "1"] == 7
    assert read["leaseforge_worker_claimed_jobs_total", "12"] == 5
    assert read["leaseforge_task_duration_seconds_bucket", "0.005", "1", "send"] == 1
    assert read["leaseforge_task_duration_seconds_bucket", "0.005", "12", "send"] == 0
    assert read["leaseforge_task_duration_seconds_bucket", "+Inf", "12", "send"] == 1
    assert read["leaseforge_task_duration_seconds_count", "1", 'od"d\n'] == 1
    assert read["leaseforge_loop_crashes_total", "tick", "12"] == 2
    told = [line for line in page.splitlines() if line.startswith("#")]
    assert len(told) == len(set(told))
    assert "# TYPE leaseforge_worker_claimed_jobs_total counter" in told


def test_a_page_of_nobody_is_empty() -> None:
    assert merged({}) == b""
