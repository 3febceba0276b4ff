"""What a worker counts, as Prometheus reads it."""

from prometheus_client.parser import text_string_to_metric_families

from leaseforge_worker.metrics import Exposition, Gauges, Meters

GAUGES = Gauges(
    slots=4,
    running=2,
    buffered=1,
    held=3,
    abandoned=0,
    degraded=True,
    loop_ages_s={"tick": 0.5},
    loop_crashes={"tick": 2},
)


def samples(meters: Meters) -> dict[tuple[str, tuple[str, ...]], float]:
    text = Exposition(meters, lambda: GAUGES).text().decode()
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_gauges_say_how_the_worker_stands() -> None:
    read = samples(Meters())

    assert read["leaseforge_worker_slots", ()] == 4
    assert read["leaseforge_active_workers", ()] == 2
    assert read["leaseforge_worker_degraded", ()] == 1
    assert read["leaseforge_worker_loop_age_seconds", ("tick",)] == 0.5
    assert read["leaseforge_worker_loop_crashes_total", ("tick",)] == 2


def test_counters_and_durations_are_exposed() -> None:
    meters = Meters(types=frozenset({"send"}), claimed=7, fenced=1)
    meters.ran("send", 0.003)
    meters.ran("send", 100.0)
    meters.ran("who?", 0.1)
    meters.called("exchange", 0.0005)
    meters.ended("completed")

    read = samples(meters)

    assert read["leaseforge_worker_claimed_jobs_total", ()] == 7
    assert read["leaseforge_worker_fenced_total", ()] == 1
    assert read["leaseforge_worker_settled_jobs_total", ("completed",)] == 1
    assert read["leaseforge_handler_duration_seconds_count", ("send",)] == 2
    assert read["leaseforge_handler_duration_seconds_bucket", ("0.005", "send")] == 1
    assert read["leaseforge_handler_duration_seconds_bucket", ("600.0", "send")] == 2
    assert read["leaseforge_handler_duration_seconds_count", ("unknown",)] == 1
    assert round(read["leaseforge_handler_duration_seconds_sum", ("send",)], 3) == 100.003
    assert read["leaseforge_worker_call_duration_seconds_count", ("exchange",)] == 1


def test_types_nobody_registered_share_one_series() -> None:
    meters = Meters(types=frozenset({"send"}))
    for number in range(1000):
        meters.ran(f"made-up-{number}", 0.01)

    assert list(meters.handlers) == ["unknown"]
