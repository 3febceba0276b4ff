"""The transition table, searched: whatever two workers, two jobs, crashes, zombies and operators do, its rules hold."""

import pytest

from tests.model.faults import FAULTS
from tests.model.search import Search, Violation, changed, explore
from tests.model.transition_table import TABLE, When


def test_two_workers_and_two_jobs_break_no_rule_and_every_job_can_end() -> None:
    search = Search()

    explored = search.run()

    print(f"{explored.states:,} states ({explored.named:,} with names told apart), {explored.steps:,} steps")
    assert explored.states > 10_000
    unused = [str(row) for row in TABLE if row not in search.used and When.SAME_OPERATION not in row.when]
    assert not unused, "the search never came to these rows"


def test_the_same_holds_when_one_job_may_run_at_a_time() -> None:
    explored = explore(cap=1)

    print(f"{explored.states:,} states, {explored.steps:,} steps")
    assert explored.states > 5_000


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_planted_in_the_table_is_found(name: str) -> None:
    change, rule = FAULTS[name]

    with pytest.raises(Violation, match=rule):
        explore(changed(change), jobs=1)


def test_a_lost_recovery_is_found_among_two_jobs_too() -> None:
    change, rule = FAULTS["nobody recovers"]

    with pytest.raises(Violation, match=rule):
        explore(changed(change))
