"""Looking for jobs over queues and states."""

import random
from collections.abc import Iterator
from typing import Any, cast

import pytest

from leaseforge import limits, operations
from leaseforge.calls import Batch, Plan
from leaseforge.errors import BadInput, QueueNotFound
from leaseforge.exchanges import Outcome
from leaseforge.filters import Filter
from leaseforge.jobs import Job, JobState
from leaseforge.requests import new_job
from leaseforge.searching import Found, search
from tests.support.live_queue import LiveQueue


def pages(line: LiveQueue, asked: Filter, limit: int = 100) -> Iterator[Found]:
    place = None
    while True:
        page = line.run(search(asked, place=place, limit=limit))
        yield page
        if (place := page.next) is None:
            return


def found(line: LiveQueue, limit: int = 100, **asked: Any) -> list[str]:
    return [job.id for page in pages(line, Filter(**asked), limit) for job in page.items]


def ended(line: LiveQueue, count: int, outcome: Outcome = Outcome.FAIL, **fields: Any) -> list[str]:
    """Jobs that ended one after the other, a second apart, the newest first."""
    ids = line.add_many(count, **fields)
    state = "dead" if outcome is Outcome.FAIL else "completed"
    for place, claimed in enumerate(line.claim(count)):
        line.settle(claimed, outcome, permanent="told_so" if outcome is Outcome.FAIL else "")
        line.age(state, [claimed.id], (count - place) * 1000)
    return ids[::-1]


@pytest.fixture
def other(line: LiveQueue) -> Iterator[LiveQueue]:
    with LiveQueue(line.url, "other") as queue:
        yield queue
        queue.audit()


def test_states_follow_each_other_and_each_has_its_order(line: LiveQueue) -> None:
    dead = ended(line, 2)
    completed = ended(line, 2, Outcome.COMPLETE)
    line.age("completed", completed[:1], 500)
    line.age("completed", completed[1:], 5000)
    line.add()
    running = line.claim_one().id
    later, soon = line.add(delay_ms=90_000), line.add(delay_ms=60_000)
    low, high = line.add(priority=-1), line.add(priority=1)

    everything = [running, high, low, soon, later, completed[0], *dead, completed[1]]

    for limit in (1, 2, 3, 100):
        assert found(line, limit) == everything
    assert {page.total for page in pages(line, Filter(), 2)} == {len(everything)}


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_queues_are_merged_by_what_their_sets_are_sorted_by(line: LiveQueue, other: LiveQueue, limit: int) -> None:
    ids = []
    for number in range(20):
        queue = line if number % 3 else other
        ids.append(queue.add(delay_ms=600_000))
        queue.make_due(ids[-1], at_ms=queue.now_ms() + 60_000 + number)

    listed = [job for page in pages(line, Filter(states=(JobState.SCHEDULED,)), limit) for job in page.items]

    assert [job.id for job in listed] == ids
    assert {job.queue for job in listed} == {"line", "other"}


def test_equal_times_are_told_apart_by_id(line: LiveQueue, other: LiveQueue) -> None:
    ids = line.add_many(15, delay_ms=600_000) + other.add_many(15, delay_ms=600_000)
    at_ms = line.now_ms() + 60_000
    line.make_due(*ids, at_ms=at_ms)
    other.make_due(*ids, at_ms=at_ms)
    dead = ended(line, 12) + ended(other, 12)
    for queue in (line, other):
        queue.age("dead", dead, 0)
        for job_id in dead:
            queue.raw.zadd(queue.key("dead"), {job_id: at_ms}, xx=True)

    assert found(line, 4, states=(JobState.SCHEDULED,)) == sorted(ids)
    assert found(line, 5, states=(JobState.DEAD,)) == sorted(dead, reverse=True)


def test_a_page_goes_on_where_the_last_one_ended_whatever_came_or_went(line: LiveQueue) -> None:
    ids = line.add_many(10)
    first = line.run(search(Filter(), limit=4))
    for job_id in ids[:4]:
        line.run(operations.delete(job_id))
    urgent = line.add(priority=9)
    last = line.add()

    rest = line.run(search(Filter(), place=first.next, limit=100))

    assert [job.id for job in first.items] == ids[:4]
    assert [job.id for job in rest.items] == [*ids[4:], last]
    assert urgent not in {job.id for job in rest.items}
    assert rest.total == 8


MATCHING = {"type": "mail", "tags": ("blue", "eu"), "priority": 5, "created_by": "shop"}


@pytest.mark.parametrize(
    "asked",
    [
        {"type": "mail"},
        {"tag": "blue"},
        {"tag": "eu"},
        {"priority_from": 5},
        {"priority_from": 1, "priority_to": 5},
        {"created_by": "shop"},
        {"type": "mail", "tag": "eu", "priority_to": 9, "priority_from": 4, "created_by": "shop", "created_from": 1},
    ],
)
@pytest.mark.parametrize("state", [JobState.READY, JobState.SCHEDULED, JobState.DEAD])
def test_a_filter_finds_what_matches_and_nothing_else(line: LiveQueue, asked: dict[str, Any], state: JobState) -> None:
    more: dict[str, Any] = {"delay_ms": 60_000} if state is JobState.SCHEDULED else {}
    fields: dict[str, Any] = MATCHING | more
    wanted = line.add(**fields)
    line.add(type="mai", tags=("blu", "eur", "light blue"), priority=0, created_by="shopper", **more)
    line.add(type="mail2", **more)
    if state is JobState.DEAD:
        for claimed in line.claim(3):
            line.settle(claimed, Outcome.FAIL, permanent="told_so")

    [page] = pages(line, Filter(states=(state,), **asked))

    assert [job.id for job in page.items] == [wanted]
    assert (page.total, page.of) == (None, 3)
    assert 1 <= page.searched <= 3


@pytest.mark.parametrize("tag", [",", '","', '"', "[", "]", "\\", "a,b", "ä", "\N{PILE OF POO}", "%", "é".upper()])
def test_a_tag_is_only_itself(line: LiveQueue, tag: str) -> None:
    line.add(tags=("a", "b", "c,d", 'e"f', "x\\"))
    wanted = line.add(tags=("a", tag, "b"))

    assert found(line, tag=tag) == [wanted]


def test_times_bound_what_is_found(line: LiveQueue) -> None:
    ids = ended(line, 10, Outcome.COMPLETE)
    now = line.now_ms()
    for place, job_id in enumerate(ids):
        at = now - 1000 * place
        line.raw.zadd(line.key("completed"), {job_id: at})
        line.raw.hset(line.record_key(job_id), mapping={"finished_at": at, "created_at": at - 500})

    assert found(line, finished_from=now - 3000, finished_before=now - 1000) == ids[2:4]
    assert found(line, finished_before=now - 7000) == ids[8:]
    assert found(line, created_from=now - 1500) == ids[:2]
    assert found(line, created_before=now - 8500 - 500) == ids[9:]
    page, *_ = pages(line, Filter(finished_from=now - 3000, finished_before=now - 1000), limit=2)
    assert page.searched <= 10


def test_text_is_found_in_the_head_and_in_the_whole_of_an_error(line: LiveQueue) -> None:
    message = "no route to host " + "x" * 300 + " Needle in the END"
    line.add_many(3)
    failed, other_one, poison = line.claim(3)
    line.settle(failed, Outcome.FAIL, error_kind="ConnectError", error_message=message, max_attempts=1)
    line.settle(other_one, Outcome.FAIL, error_kind="ValueError", error_message="odd", max_attempts=1)
    line.settle(poison, Outcome.FAIL, permanent="bad_payload")

    assert found(line, error="connecterror") == [failed.id]
    assert found(line, error="NO ROUTE") == [failed.id]
    assert found(line, error="needle in the end") == [failed.id]
    assert found(line, error="valueerror: odd") == [other_one.id]
    assert found(line, error="bad_payload") == [poison.id]
    assert found(line, error="%a") == []


def test_jobs_are_found_by_the_operation_that_acted_on_them_last(line: LiveQueue) -> None:
    ids = ended(line, 3, Outcome.FAIL)
    for job_id, operation in zip(ids, ("a", "b", "a"), strict=True):
        line.run(operations.retry(job_id, operation=operation))
    line.run(operations.cancel(ids[2], operation="c"))

    assert found(line, operation="a") == [ids[0]]
    assert found(line, operation="b") == [ids[1]]
    assert found(line, operation="c", states=(JobState.CANCELLED,)) == [ids[2]]
    assert found(line, operation="d") == []


def test_a_group_is_listed_exactly_over_all_queues(line: LiveQueue, other: LiveQueue) -> None:
    ids = []
    for queue in (line, other, line):
        ids.append(queue.add())
        queue.settle(queue.claim_one(), Outcome.FAIL, error_kind="E", error_message="no 1", max_attempts=1)
        queue.age("dead", ids[-1:], 1000 - 100 * len(ids))
        queue.raw.zadd(queue.key(f"dead:group:{queue.job(ids[-1]).group}"), {ids[-1]: queue.now_ms() - 1000 + len(ids)})
    line.add()
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Another", max_attempts=1)
    group = line.job(ids[0]).group

    page = line.run(search(Filter(states=(JobState.DEAD,), group=group), limit=100))

    assert [job.id for job in page.items] == ids[::-1]
    assert (page.total, page.next) == (3, None)
    assert found(line, queue="other", states=(JobState.DEAD,), group=group) == [ids[1]]
    assert found(line, states=(JobState.DEAD,), group="nothing") == []


def test_a_page_looks_at_a_bounded_number_of_jobs_and_leads_on(
    line: LiveQueue, other: LiveQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_SEARCHED", 300)
    line.add_many(450)
    wanted = [line.add(type="rare"), other.add(type="rare", delay_ms=60_000)]
    other.add_many(330)

    seen = list(pages(line, Filter(type="rare"), limit=10))

    assert [job.id for page in seen for job in page.items] == wanted
    assert len(seen) > 2
    assert all(page.searched <= 300 + limits.CHUNK for page in seen)
    assert {page.of for page in seen} == {782}


def test_a_damaged_record_is_listed_but_matches_nothing(line: LiveQueue) -> None:
    ids = line.add_many(3)
    with line.planted(f"job:{ids[1]}", b"not a record"):
        listed: list[Job] = list(line.run(search(Filter(), limit=10)).items)
        assert [job.id for job in listed] == ids
        assert found(line, type="work") == [ids[0], ids[2]]


def test_a_foreign_key_in_the_place_of_a_set_hides_no_other_queue(line: LiveQueue, other: LiveQueue) -> None:
    line.add(delay_ms=60_000)
    ids = other.add_many(2)
    with line.planted("scheduled", b"foreign"):
        assert found(line) == ids


ODD_MEMBERS = (b"\xff\x00" * 400, b"x", b"\xff" * 200, b"")


def test_a_member_that_is_none_of_ours_stops_no_walk(line: LiveQueue) -> None:
    ids = sorted(line.add_many(2, delay_ms=60_000))
    dead = ended(line, 2)
    for state in ("scheduled", "dead"):
        line.raw.zadd(line.key(state), dict.fromkeys(ODD_MEMBERS, line.now_ms() + 10_000))

    listed = found(line, 1)

    assert [job_id for job_id in listed if job_id in {*ids, *dead}] == [*ids, *dead]
    assert len(listed) == 4 + 2 * len(ODD_MEMBERS)
    for state in ("scheduled", "dead"):
        line.raw.zrem(line.key(state), *ODD_MEMBERS)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"queue": "no where"}, "queue"),
        ({"states": ()}, "state"),
        ({"group": "g"}, "group"),
        ({"type": ""}, "type"),
        ({"tag": "x" * 65}, "tag"),
        ({"error": "\ud800"}, "error"),
        ({"created_by": "x" * 257}, "created_by"),
        ({"priority_from": 1.5}, "priority_from"),
        ({"created_from": 2**60}, "created_from"),
    ],
)
def test_a_filter_out_of_bounds_is_refused_by_name(line: LiveQueue, asked: dict[str, Any], field: str) -> None:
    with pytest.raises(BadInput) as refused:
        line.run(search(Filter(**asked)))
    assert [problem.field for problem in refused.value.problems] == [field]


@pytest.mark.parametrize("place", ["", "x", "9", "-1", "1:2", "1:x:00", "1:nan:00", "1:5:xyz", "1:5:00:00"])
def test_a_place_that_is_none_is_refused(line: LiveQueue, place: str) -> None:
    line.add()
    with pytest.raises(BadInput, match="place"):
        line.run(search(Filter(), place=place))


def test_an_unknown_queue_is_told_and_no_queue_at_all_is_empty(line: LiveQueue) -> None:
    with pytest.raises(QueueNotFound):
        line.run(search(Filter(queue="nowhere")))
    assert line.run(search(Filter())) == Found((), 0, 0, 0, None, 0)


def test_many_queues_cost_a_page_no_more_than_a_few_looks_each(line: LiveQueue) -> None:
    line.run(operations.enqueue_many([new_job("work", queue=f"q{number}") for number in range(60) for _ in range(5)]))

    first = line.run(search(Filter(states=(JobState.READY,)), limit=20))

    assert (len(first.items), first.total) == (20, 300)
    assert first.searched <= 200
    assert len(found(line, 50)) == 300
    line.raw.flushdb()


def spread(line: LiveQueue, queues: int, each: int) -> list[str]:
    """Jobs of many queues that are due one after another, those of a queue at random places; in their order."""
    names = [f"q{number:02}" for number in range(queues)]
    new = [new_job("work", queue=name, delay_ms=600_000) for name in names for _ in range(each)]
    line.run(operations.enqueue_many(new))
    random.Random(7).shuffle(new)
    for place, job in enumerate(new):
        line.raw.zadd(f"lf:{{{job.queue}}}:scheduled", {job.id: line.now_ms() + 60_000 + place}, xx=True)
    return [job.id for job in new]


@pytest.mark.parametrize("limit", [1, 2, 7, 11, 12, 13, 100])
def test_pages_of_far_more_queues_than_a_page_has_rows_hold_each_job_once_and_in_order(
    line: LiveQueue, limit: int
) -> None:
    ids = spread(line, queues=24, each=4)

    assert found(line, limit) == ids
    line.raw.flushdb()


@pytest.mark.parametrize("leaving", [1, 3, 20])
def test_jobs_that_leave_while_a_page_is_read_take_no_others_along(line: LiveQueue, leaving: int) -> None:
    ids = spread(line, queues=24, each=4)
    met = 0

    def disturbed() -> Plan[Found]:
        nonlocal met
        plan = search(Filter(), limit=5)
        step = next(plan)
        while True:
            answer = yield step
            if isinstance(step, Batch) and step.calls[0].script.name == "read_heads":
                met += 1
                for job_id in ids[:leaving]:
                    yield from operations.delete(job_id)
            try:
                step = plan.send(answer)
            except StopIteration as end:
                return cast(Found, end.value)

    first = line.run(disturbed())

    assert met == 1
    assert [job.id for job in first.items] == ids[leaving : leaving + 5]
    rest = [job.id for page in _from(line, first.next) for job in page.items]
    assert rest == ids[leaving + 5 :]
    line.raw.flushdb()


def _from(line: LiveQueue, place: str | None) -> Iterator[Found]:
    while place is not None:
        page = line.run(search(Filter(), place=place, limit=5))
        yield page
        place = page.next
