from dataclasses import replace
from typing import Any

from leaseforge.jobs import JobState
from leaseforge.workers import WorkerState
from leaseforge_console.views.notices import Notice, notices
from leaseforge_console.views.signs import Growth, Signs, Unhandled, unhandled
from tests.console.sample import ago, job, queue, snapshot, worker


def told(*found: Notice) -> list[str]:
    return [f"{notice.lead} {notice.subject}{notice.text}" for notice in found]


def test_nothing_wrong_is_no_notice() -> None:
    assert notices(snapshot(queue(ready=5, completed=100), worker("default"))) == ()


def test_jobs_without_a_worker_come_first() -> None:
    seen = notices(
        snapshot(
            queue("media", ready=41, oldest_s=1740),
            queue("mail", ready=1, oldest_s=3, dead=2),
            queue("reports", paused=True, ready=28),
            worker("mail"),
        )
    )

    assert told(*seen) == [
        "No worker serves media: 41 jobs wait, the oldest for 29 min.",
        "Dead letters in mail: 2 jobs failed for good.",
        "Paused: reports: 28 jobs wait until it is resumed.",
    ]
    assert [notice.tone for notice in seen] == ["bad", "bad", "warn"]
    assert [notice.path for notice in seen] == [
        "/queues/media?state=ready",
        "/dead?queue=mail",
        "/queues/reports",
    ]


def test_no_worker_at_all_is_one_notice() -> None:
    seen = notices(snapshot(queue("a", ready=1), queue("b", ready=2), worker("a", state=WorkerState.LOST)))

    assert told(*seen)[0] == "No worker is running: 3 jobs in 2 queues wait."


def test_quiet_stopping_and_lost_workers_serve_nothing() -> None:
    for state in (WorkerState.QUIET, WorkerState.STOPPING, WorkerState.LOST):
        seen = notices(snapshot(queue("mail", ready=1), worker("mail", state=state), worker("other", id="w2")))
        assert told(*seen)[0].startswith("No worker serves mail")


def test_a_worker_for_every_queue_serves_each() -> None:
    assert notices(snapshot(queue("anything", ready=9), worker("*"))) == ()


def test_the_queue_with_most_dead_letters_is_named() -> None:
    seen = notices(snapshot(queue("a", dead=2), queue("b", dead=306), worker()))

    assert told(*seen) == ["Dead letters, most in b (306 of 308 in 2 queues)."]


def test_a_lost_worker_is_told_with_the_time_since() -> None:
    seen = notices(snapshot(queue(), worker(state=WorkerState.LOST, last_seen_at=ago(40))))

    assert told(*seen) == [
        "Worker not heard of: node-1:17 for 40 s; its jobs go back to their queues when their leases end."
    ]


def test_many_of_a_kind_are_summed_up() -> None:
    paused = [queue(f"q{number}", paused=True) for number in range(10)]

    seen = notices(snapshot(*paused, worker()))

    assert len(seen) == 4
    assert told(seen[-1])[0].strip() == "and 7 more queues are paused."
    assert seen[-1].path == "/queues?only=paused"


def test_dead_letters_that_grow_take_the_place_of_those_that_are_there() -> None:
    signs = Signs(died=212, growth=Growth("billing", "charge_card", 212, "GatewayTimeout"))

    [notice] = notices(snapshot(queue("billing", dead=300), worker()), signs)

    assert told(notice) == [
        "Dead letters grow: charge_card: 212 jobs in billing died in the last 15 min, all GatewayTimeout."
    ]
    assert notice.path == "/dead?queue=billing&type=charge_card"
    [mixed] = notices(snapshot(queue(), worker()), replace(signs, growth=Growth("a", "b&c", 1, "")))
    assert mixed.text == ": 1 job in a died in the last 15 min, of different errors."
    assert mixed.path == "/dead?queue=a&type=b%26c"


def test_jobs_that_no_worker_can_run_are_told() -> None:
    [notice] = notices(snapshot(queue(), worker()), Signs(unhandled=(Unhandled("media", "resize_video", 7),)))

    assert told(notice) == ["No worker runs resize_video: 7 of the next jobs of media will fail as unknown_type."]
    assert (notice.tone, notice.path) == ("bad", "/jobs?queue=media&type=resize_video")


def test_a_type_is_handled_if_any_worker_of_the_queue_has_it() -> None:
    jobs = [job(JobState.READY, type=name) for name in ("a", "b", "b", "c")]

    found = unhandled("mail", jobs, [worker(types=("a",)), worker(types=("c", "d"))])

    assert found == [Unhandled("mail", "b", 2)]
    assert unhandled("mail", jobs, [worker(types=("a", "b", "c"))]) == []


def test_lost_leases_of_late_are_told() -> None:
    assert told(*notices(snapshot(queue(), worker()), Signs(recovered=7, fenced=2))) == [
        "Leases were lost: 7 jobs were taken back from workers in the last 15 min, 2 late words of theirs refused."
    ]
    assert notices(snapshot(queue(), worker()), Signs(fenced=2)) == ()


def test_a_long_wait_is_told_only_of_queues_that_are_served() -> None:
    late: dict[str, Any] = {"ready": 9, "oldest_s": 720}

    served = told(*notices(snapshot(queue("mail", **late), worker("mail"))))
    assert served == ["Jobs wait long in mail: 9 jobs wait, the oldest for 12 min."]
    assert not any("wait long" in text for text in told(*notices(snapshot(queue("mail", **late)))))
    paused = notices(snapshot(queue("mail", paused=True, **late), worker("mail")))
    assert [notice.lead for notice in paused] == ["Paused:"]
    assert notices(snapshot(queue("mail", ready=9, oldest_s=299), worker("mail"))) == ()
