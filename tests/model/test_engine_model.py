"""The engine on a real server against a plain model of it: any calls, in any order, each sent once or twice.

After every call the answer and every key must be as the model has them. LEASEFORGE_TEST_SEED repeats a run.
"""

import os
import random
from collections.abc import Iterator

import pytest
import redis
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from leaseforge.store import connect_sync
from tests.model.actions import ACTIONS, FIRST, Action
from tests.model.twin import Twin


class EngineMachine(RuleBasedStateMachine):
    """One example: two queues on an empty database, and 50 actions on them and on their model."""

    twin: Twin

    @initialize(action=FIRST)
    def begin(self, action: Action) -> None:
        self.twin.begin()
        self.twin.act(action)

    @rule(action=ACTIONS)
    def act(self, action: Action) -> None:
        self.twin.act(action)

    def teardown(self) -> None:
        self.twin.end()


@pytest.fixture
def machine(redis_url: str) -> Iterator[type[EngineMachine]]:
    """The machine on the test's database; whatever it did to the server is undone."""
    with connect_sync(redis_url) as store, redis.Redis.from_url(redis_url) as raw:
        twin = Twin(raw, store)
        yield type("Machine", (EngineMachine,), {"twin": twin})
        twin.end()


def explore(machine: type[EngineMachine], examples: int) -> None:
    """Runs that many examples of 50 actions. The seed is printed, it repeats them all."""
    number = int(os.environ.get("LEASEFORGE_TEST_SEED") or random.randrange(2**32))
    print(f"LEASEFORGE_TEST_SEED={number}")
    how = settings(
        max_examples=examples,
        stateful_step_count=50,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(seed(number)(machine), settings=how)
    finally:
        twin = machine.twin
        print(f"{twin.compared:,} comparisons, {twin.lost} examples given up because this machine stood still")
        print(f"what happened: {dict(twin.totals)}")


@pytest.mark.timeout(600)
def test_whatever_is_called_the_engine_does_what_the_model_does(machine: type[EngineMachine]) -> None:
    explore(machine, 40)


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_the_engine_does_what_the_model_does_in_2000_examples(machine: type[EngineMachine]) -> None:
    explore(machine, int(os.environ.get("LEASEFORGE_TEST_EXAMPLES") or 2000))
