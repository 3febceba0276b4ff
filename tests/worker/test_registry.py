"""A worker's reports: what they say, and that no command gets lost on the way."""

from typing import Any

from leaseforge.errors import StoreUnavailable
from leaseforge.workers import Registered, WorkerState
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.registry import Registration
from tests.worker.builders import Clock, ScriptedSyncStore

NOTHING = Registered("", "", {"default": 3})
QUIET = Registered("1", "quiet", {"default": 3})


class Desk:
    """A worker's registration over a scripted store, and the commands it was given."""

    def __init__(self, *answers: Any, payloads: dict[str, bytes] | None = None) -> None:
        self.store = ScriptedSyncStore(*answers)
        self.commands: list[str] = []
        self.link = Link()
        self.registration = Registration(
            store=self.store,
            run_id="w1",
            version="1",
            types=("echo",),
            slots=2,
            period_s=1.0,
            queues=lambda: ["default"],
            running=lambda: [],
            state=lambda: WorkerState.RUNNING,
            command=self.commands.append,
            link=self.link,
            meters=Meters(),
            payloads=payloads or {},
            clock=Clock(),
        )

    def report(self, times: int = 1) -> None:
        for _ in range(times):
            self.registration.run_once()

    def heard(self) -> list[Any]:
        return [dict(call.args)["heard"] for call in self.store.calls]


def test_a_command_is_obeyed_and_confirmed_by_the_next_report() -> None:
    desk = Desk(NOTHING, QUIET, NOTHING)

    desk.report(3)

    assert desk.commands == ["quiet"]
    assert desk.heard() == ["", "", "1"]
    assert desk.registration.consumers == {"default": 3}


def test_a_command_whose_answer_got_lost_is_heard_with_the_next_one() -> None:
    desk = Desk(StoreUnavailable("the reply was lost"), QUIET, NOTHING)

    desk.report(3)

    assert desk.commands == ["quiet"]
    assert desk.heard() == ["", "", "1"]


def test_a_command_that_comes_again_because_the_confirmation_got_lost_is_not_obeyed_twice() -> None:
    desk = Desk(QUIET, StoreUnavailable("the report was lost"), QUIET, NOTHING)

    desk.report(4)

    assert desk.commands == ["quiet"]
    assert desk.heard() == ["", "1", "1", "1"]


def test_the_same_word_said_anew_is_a_new_command() -> None:
    desk = Desk(QUIET, Registered("2", "resume", {}), Registered("3", "quiet", {}))

    desk.report(3)

    assert desk.commands == ["quiet", "resume", "quiet"]


def test_what_payloads_look_like_is_told_once_after_the_first_report_that_gets_through() -> None:
    away = StoreUnavailable("away")
    desk = Desk(away, NOTHING, away, NOTHING, 1, NOTHING, payloads={"echo": b"{}"})

    desk.report(4)

    told = [call.rest for call in desk.store.calls if call.script.name == "publish_forms"]
    assert told == [("echo", b"{}"), ("echo", b"{}")]
    assert not desk.link.degraded
    assert not desk.store.answers


def test_redis_being_away_costs_a_report_and_nothing_else() -> None:
    desk = Desk(StoreUnavailable("away"), NOTHING)

    desk.report()
    assert desk.link.degraded
    desk.report()

    assert not desk.link.degraded
