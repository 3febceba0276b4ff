from datetime import UTC, datetime, timedelta

import pytest

from leaseforge_console.charts import PLOT_HEIGHT, Chart, line_chart

START = datetime(2026, 11, 29, 3, 0, 20, tzinfo=UTC)


def draw(values: list[float], *, step_s: int = 10) -> Chart:
    times = [START + timedelta(seconds=step_s * index) for index in range(len(values))]
    chart = line_chart("Jobs", [("completed", values)], times)
    assert chart is not None
    return chart


@pytest.mark.parametrize(
    ("peak", "labels"),
    [
        (0.0, ["0", "0.5", "1"]),
        (0.3, ["0", "0.1", "0.2", "0.3"]),
        (6.0, ["0", "2", "4", "6"]),
        (479.0, ["0", "200", "400", "600"]),
        (38_000.0, ["0", "10,000", "20,000", "30,000", "40,000"]),
    ],
)
def test_the_axis_ends_at_a_round_value_above_the_peak(peak: float, labels: list[str]) -> None:
    chart = draw([0.0, peak])

    assert [mark.label for mark in chart.marks] == labels


def test_points_lie_between_the_top_line_and_the_base() -> None:
    chart = draw([0.0, 5.0, 10.0])

    heights = [float(part.split()[1]) for part in chart.lines[0].path.removeprefix("M").split(" L")]
    assert heights[0] == PLOT_HEIGHT
    assert heights[0] > heights[1] > heights[2] >= chart.marks[-1].y


def test_labels_under_the_plot_are_full_minutes_inside_it() -> None:
    chart = draw([1.0] * 90)

    assert [tick.label for tick in chart.ticks] == ["03:03", "03:06", "03:09", "03:12", "03:15"]
    assert all(0 <= tick.x <= 100 for tick in chart.ticks)


def test_an_hour_has_few_labels() -> None:
    assert len(draw([1.0] * 90, step_s=40).ticks) <= 7


def test_every_value_is_told_in_words() -> None:
    chart = draw([3.2, 4.0])

    assert chart.slots[0].tip == "03:00:20 UTC, per second\ncompleted 3.2"
    assert "completed now 4.0, at most 4.0 per second" in chart.label


def test_one_point_is_no_line() -> None:
    assert line_chart("Jobs", [("completed", [1.0])], [START]) is None
