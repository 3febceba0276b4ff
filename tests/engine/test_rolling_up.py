"""Statistics of 10 s are added to those of 5 min and of 1 h, each once, a bounded part at a time."""

from typing import Any

from leaseforge import statistics
from leaseforge.statistics import Step
from tests.support.live_queue import LiveQueue


def plant(line: LiveQueue, *, ago: int, **fields: int) -> None:
    """Lets a bucket of 10 s have been filled that many buckets ago."""
    bucket = line.now_ms() // 10_000 - ago
    line.raw.hset(line.key(f"stats:10:{bucket}"), mapping={name.replace("__", ":"): n for name, n in fields.items()})


def coarse(line: LiveQueue, step: Step) -> dict[str, int]:
    """The sums over all buckets of one resolution."""
    sums: dict[str, int] = {}
    for key in line.raw.scan_iter(line.key(f"stats:{step}:*")):
        assert line.raw.pttl(key) > 0
        for field, value in line.raw.hgetall(key).items():
            sums[field.decode()] = sums.get(field.decode(), 0) + int(value)
    return sums


def test_each_bucket_is_added_once(line: LiveQueue) -> None:
    for ago in (1, 2, 40):
        plant(line, ago=ago, enqueued=ago, wait__3__mail=1)

    rolled = [line.run(statistics.roll_call(line.name)) for _ in range(15)]

    assert rolled[:12] == [60] * 12
    assert sum(rolled[12:]) <= 1
    for step in (Step.FIVE_MINUTES, Step.HOUR):
        assert coarse(line, step) == {"enqueued": 43, "wait:3:mail": 3}


def test_ticks_roll_up_by_the_way(line: LiveQueue) -> None:
    plant(line, ago=5, completed=7)

    for _ in range(15):
        line.tick()

    assert coarse(line, Step.HOUR)["completed"] == 7


def test_full_buckets_are_added_a_few_at_a_time(line: LiveQueue) -> None:
    fields: dict[str, Any] = {f"wait__3__type-{number}": 1 for number in range(1500)}
    for ago in range(1, 6):
        plant(line, ago=ago, **fields)
    line.raw.hset(line.key("meta"), "rolled", line.now_ms() // 10_000 - 5)

    rolled = [line.run(statistics.roll_call(line.name)) for _ in range(7)]

    assert rolled[0] == 1
    assert sum(rolled) in (5, 6)
    assert set(coarse(line, Step.HOUR).values()) == {5}


def test_damaged_statistics_do_not_stop_the_sweeps(line: LiveQueue) -> None:
    now = line.now_ms() // 10_000
    plant(line, ago=3, completed=7)
    line.raw.hset(line.key(f"stats:10:{now - 3}"), "failed", "many")
    line.raw.set(line.key(f"stats:10:{now - 2}"), "foreign")
    plant(line, ago=1, completed=1)
    line.raw.hset(line.key("meta"), "rolled", now - 3)
    line.add(delay_ms=60_000)
    line.make_due(*line.snapshot().job_ids("scheduled"))

    ticked = line.tick()

    assert ticked.promoted == 1
    assert line.take_wake_token()
    assert coarse(line, Step.HOUR)["completed"] == 8
    assert line.run(statistics.roll_call(line.name)) <= 1
