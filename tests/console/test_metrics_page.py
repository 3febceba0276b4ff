import asyncio
import time
from datetime import timedelta

import pytest
import redis

from leaseforge.keys import queue_key
from leaseforge.statistics import Point, Throughput, TypeShape
from leaseforge.store import Store
from leaseforge_console import recently as recently_module
from leaseforge_console.charts import line_chart
from leaseforge_console.filters import percent
from leaseforge_console.recently import Recently
from leaseforge_console.views import figures, metrics
from tests.api.support import kill_job
from tests.console import sample
from tests.console.browsing import Visitor, words


def shape(name: str, *, completed: int = 0, failed: int = 0, run: dict[int, int] | None = None) -> TypeShape:
    classes = tuple((run or {}).get(index, 0) for index in range(16))
    return TypeShape(name, completed, failed, 0, classes, classes)


def build(*shapes: TypeShape, order: str = "busiest", queue: str = "") -> metrics.Metrics:
    asked = metrics.chosen(900, queue, order)
    return metrics.build(asked, sample.throughput(*[10] * 90), {"mail": shapes}, sample.snapshot(sample.queue("mail")))


@pytest.mark.parametrize(
    ("order", "names"),
    [("busiest", ["a", "b", "c"]), ("slowest", ["c", "b", "a"]), ("failing", ["b", "a", "c"])],
)
def test_types_are_put_in_the_order_asked_for(order: str, names: list[str]) -> None:
    page = build(
        shape("a", completed=100, failed=1, run={3: 100}),
        shape("b", completed=10, failed=10, run={8: 10}),
        shape("c", completed=5, run={14: 5}),
        order=order,
    )

    assert [row.name for row in page.types.rows] == names


def test_figures_tell_the_share_that_fails_and_what_most_stay_under() -> None:
    [row] = build(shape("a", completed=75, failed=25, run={10: 100})).types.rows

    assert (row.completed, row.failed, row.failing) == (75, 25, 0.25)
    assert row.run.p50 is not None
    assert 0.512 < row.run.p50 < 1.024
    assert row.wait.p99 is not None
    assert row.run.p50 < row.wait.p99 <= 1.024


def test_what_never_ended_has_no_share_and_no_times() -> None:
    [row] = build(shape("a")).types.rows

    assert (row.failing, row.run, row.wait) == (None, figures.Times(None, None, None), figures.Times(None, None, None))


def test_more_types_than_fit_are_counted() -> None:
    page = build(*[shape(f"type-{number}", completed=number) for number in range(60)])

    assert (len(page.types.rows), page.types.more) == (50, 10)
    assert page.types.rows[0].name == "type-59"


def test_the_histogram_draws_what_there_is_inside_its_plot() -> None:
    drawn = build(shape("a", completed=3, run={0: 1, 10: 1000, 15: 2})).histogram

    assert drawn is not None
    assert [bar.x for bar in drawn.bars if bar.name == "run"] == [0.52, 10.52, 15.52]
    assert all(bar.height >= 2 and 0 <= bar.y <= drawn.height for bar in drawn.bars)
    assert [slot.time for slot in drawn.slots][:2] == ["under 1 ms", "1 ms to 2 ms"]
    assert drawn.slots[10].values == ("1,000", "1,000")
    assert drawn.slots[15].time == "over 16 s"
    assert build().histogram is None


def test_the_busiest_queues_are_read_and_the_page_says_so() -> None:
    queues = [sample.queue(f"q{number}") for number in range(30)]
    snapshot = sample.snapshot(*queues)
    asked = metrics.chosen(604_800, "", "")

    read = metrics.queues_read(asked, snapshot)
    page = metrics.build(asked, sample.throughput(1, 2, 3), dict.fromkeys(read, ()), snapshot)

    assert len(read) == metrics.MOST_QUEUES
    assert page.shapes_for == "about the last 24 h, the longest kept by type, of the 20 busiest queues"
    assert metrics.queues_read(metrics.chosen(900, "q7", ""), snapshot) == ("q7",)


def test_addresses_keep_what_else_was_chosen() -> None:
    page = build(queue="mail", order="failing")

    assert [one.path for one in page.ranges][3] == "/metrics?seconds=604800&queue=mail&order=failing"
    assert [one.current for one in page.orders] == [False, False, True]
    assert metrics.chosen(7, "", "x") == metrics.Asked(900, "", "busiest")


def test_a_chart_of_days_tells_the_day() -> None:
    points = tuple(Point(sample.NOW + timedelta(hours=hour), 1, 1, 0, 0, 0, 0, 0) for hour in range(-168, 0))
    page = metrics.build(metrics.chosen(604_800, "", ""), Throughput(3600, points), {}, sample.snapshot(sample.queue()))

    assert page.throughput is not None
    assert 2 <= len(page.throughput.ticks) <= 6
    assert all(tick.label.endswith(("Nov", "Dec")) for tick in page.throughput.ticks)
    assert page.throughput.slots[0].time == "22 Nov 04:00 UTC"
    day = line_chart("x", [("completed", [1.0] * 72)], [sample.NOW + timedelta(minutes=20 * n) for n in range(72)])
    assert day is not None
    assert len(day.ticks) <= 6


@pytest.mark.parametrize(
    ("part", "text"),
    [(0, "0 %"), (0.00001, "0.1 %"), (0.034, "3.4 %"), (0.5, "50 %"), (0.9999, "99.9 %"), (1, "100 %")],
)
def test_a_share_is_never_rounded_to_nothing_or_all(part: float, text: str) -> None:
    assert percent(part) == text


async def test_a_dear_reading_is_made_once_for_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    recently, times = Recently(), 0

    async def read() -> int:
        nonlocal times
        times += 1
        await asyncio.sleep(0)
        return times

    assert set(await asyncio.gather(*(recently.get("a", read, for_s=60) for _ in range(20)))) == {1}
    assert await recently.get("b", read, for_s=0) == 2
    assert await recently.get("b", read, for_s=0) == 3
    monkeypatch.setattr(recently_module, "MOST", 2)
    assert await recently.get("c", read, for_s=60) == 4
    assert len(recently._kept) == 1


async def test_a_reading_that_failed_is_made_again() -> None:
    recently = Recently()

    async def broken() -> int:
        raise ValueError

    async def sound() -> int:
        return 1

    with pytest.raises(ValueError, match=r"^$"):
        await recently.get("a", broken, for_s=60)
    assert await recently.get("a", sound, for_s=60) == 1


async def test_the_page_shows_types_and_queues(operator: Visitor, store: Store, redis_url: str) -> None:
    await kill_job(store, "mail")
    await kill_job(store, "billing")
    bucket = int(time.time() // 300)
    with redis.Redis.from_url(redis_url) as raw:
        raw.hset(queue_key("mail", f"stats:300:{bucket}"), mapping={"completed:echo": 1, "run:3:echo": 1})
        raw.hset(queue_key("billing", f"stats:300:{bucket}"), mapping={"failed:echo": 1, "wait:12:echo": 1})

    page = words((await operator.get("/console/metrics")).text)

    assert "all 2 queues together" in page
    assert "echo 1 1 50 %" in page
    assert "billing 0 1 100 %" in page
    assert "Show as a table" in page
    one = words((await operator.get("/console/metrics?queue=mail&seconds=900&order=slowest")).text)
    assert "queue mail" in one
    assert "echo 1 0 0 %" in one
    assert "By queue" not in one


@pytest.mark.parametrize(
    ("query", "status"),
    [("queue=never", 404), ("queue=b%C3%A4d%00", 404), ("seconds=x", 400), ("seconds=-1", 200), ("order=<b>", 200)],
)
async def test_nonsense_in_the_address_is_answered(operator: Visitor, store: Store, query: str, status: int) -> None:
    await kill_job(store)

    assert (await operator.get(f"/console/metrics?{query}")).status_code == status


async def test_before_the_first_job_the_page_says_what_is_missing(operator: Visitor) -> None:
    page = words((await operator.get("/console/metrics")).text)

    assert "No job ended or was taken in this time" in page
