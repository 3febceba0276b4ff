"""How job types did over a span of time: the buckets that span it, each once, read a few at a time."""

import pytest

from leaseforge import statistics
from leaseforge.errors import BadInput
from leaseforge.exchanges import Outcome
from leaseforge.statistics import Step, TypeShape
from tests.support.live_queue import LiveQueue


def plant(line: LiveQueue, step: Step, **fields: int) -> None:
    """Gives the last 30 buckets of one resolution the same fields."""
    newest = line.now_ms() // 1000 // step
    for bucket in range(newest - 29, newest + 2):
        line.raw.hset(
            line.key(f"stats:{step}:{bucket}"), mapping={name.replace("__", ":"): n for name, n in fields.items()}
        )


@pytest.mark.parametrize(
    ("seconds", "step", "buckets"),
    [
        (1, Step.TEN_SECONDS, 1),
        (35, Step.TEN_SECONDS, 4),
        (120, Step.TEN_SECONDS, 12),
        (121, Step.FIVE_MINUTES, 1),
        (900, Step.FIVE_MINUTES, 3),
        (1500, Step.FIVE_MINUTES, 5),
        (3600, Step.FIVE_MINUTES, 12),
        (6 * 3600, Step.HOUR, 6),
        (86_400, Step.HOUR, 24),
        (10**9, Step.HOUR, 24),
    ],
)
def test_a_span_is_added_up_from_the_buckets_that_fit_it(
    line: LiveQueue, seconds: int, step: Step, buckets: int
) -> None:
    for each, weight in ((Step.TEN_SECONDS, 1), (Step.FIVE_MINUTES, 100), (Step.HOUR, 10_000)):
        plant(line, each, enqueued=1, completed__mail=weight, wait__3__mail=2 * weight, run__15__mail=weight)
    weight = {Step.TEN_SECONDS: 1, Step.FIVE_MINUTES: 100, Step.HOUR: 10_000}[step]

    [mail] = line.run(statistics.shapes(line.name, seconds=seconds))

    assert (mail.type, mail.completed, mail.failed) == ("mail", weight * buckets, 0)
    assert (mail.wait[3], mail.run[15], sum(mail.wait)) == (2 * weight * buckets, weight * buckets, mail.wait[3])


def test_what_happens_now_is_seen_at_once_in_a_short_span(line: LiveQueue) -> None:
    for job_type, outcome in (("a:b", Outcome.COMPLETE), ("a:b", Outcome.FAIL), ("c", Outcome.COMPLETE)):
        line.add(job_type)
        line.settle(line.claim_one(), outcome, permanent="told_so")

    shapes = {shape.type: shape for shape in line.run(statistics.shapes(line.name, seconds=120))}

    assert {name: (shape.completed, shape.failed, shape.dead) for name, shape in shapes.items()} == {
        "a:b": (1, 1, 1),
        "c": (1, 0, 0),
    }
    assert all(sum(shape.wait) == sum(shape.run) for shape in shapes.values())


def test_a_queue_where_nothing_happened_has_no_shapes(line: LiveQueue) -> None:
    nothing: list[TypeShape] = line.run(statistics.shapes(line.name))

    assert nothing == []


def test_a_bad_name_is_refused(line: LiveQueue) -> None:
    with pytest.raises(BadInput):
        line.run(statistics.shapes("no such name"))
