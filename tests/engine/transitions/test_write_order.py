"""Lua has no rollback: a call that must fail fails before its first write."""

from typing import Any

import pytest

from leaseforge import exchanges
from leaseforge.calls import Call
from leaseforge.errors import ScriptFault
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import JobState
from leaseforge.store import connect_sync
from tests.support.live_queue import LEASE_MS, LiveQueue
from tests.support.sample_calls import sample_calls

SETS = {str(state) for state in JobState}
WRITING = ("enqueue", "exchange", "renew", "tick", "trim", "resume", "purge", "retry", "delete")
KEYS = [(script, name) for script in WRITING for name, _ in sample_calls()[script].keys]
# An exchange without its meta may still settle: its parts answer each on its own.
VITAL = [(script, name) for script, name in KEYS if name in SETS | {"meta"} and (script, name) != ("exchange", "meta")]


def a_job_in_every_state(line: LiveQueue) -> tuple[str, str]:
    """Work for every transition; the id of a dead job, and of one that runs under an expired lease."""
    completed, cancelled, dead, retrying, lost, _ = line.add_many(6)
    claimed = {job.id: job for job in line.claim(6)}
    line.settle(claimed[completed], Outcome.COMPLETE)
    line.settle(claimed[cancelled], Outcome.CANCELLED)
    line.settle(claimed[dead], Outcome.FAIL, error_kind="Broken", permanent="told_so")
    line.settle(claimed[retrying], Outcome.FAIL, error_kind="Broken", delay_ms=60_000)
    scheduled = line.add(delay_ms=60_000)
    line.add_many(3)
    line.age("completed", [completed], 10 * 86_400_000)
    line.expire(lost)
    line.make_due(scheduled, retrying)
    return dead, lost


def everything(line: LiveQueue) -> dict[bytes, bytes]:
    keys = sorted(line.raw.keys("*"))
    pipeline = line.raw.pipeline()
    for key in keys:
        pipeline.dump(key)
    return dict(zip(keys, pipeline.execute(), strict=True))


def put_aside(line: LiveQueue, name: str) -> None:
    """Another program's key stands where the queue's key was."""
    if line.raw.exists(line.key(name)):
        line.raw.rename(line.key(name), f"aside:{name}")
    line.raw.set(line.key(name), b"foreign")


def put_back(line: LiveQueue, name: str) -> None:
    line.raw.delete(line.key(name))
    if line.raw.exists(f"aside:{name}"):
        line.raw.rename(f"aside:{name}", line.key(name))


def call_of(script: str, line: LiveQueue) -> Call[Any]:
    dead, lost = a_job_in_every_state(line)
    token = line.field(lost, "token") or ""
    return sample_calls(job_id=dead if script in ("retry", "delete") else lost, token=token)[script]


@pytest.mark.parametrize(("script", "name"), VITAL)
def test_a_foreign_key_among_the_queues_own_is_noticed_before_anything_is_written(
    line: LiveQueue, script: str, name: str
) -> None:
    call = call_of(script, line)
    put_aside(line, name)
    before = everything(line)

    with pytest.raises(ScriptFault, match="WRONGTYPE"):
        line.run(call)

    assert everything(line) == before
    put_back(line, name)


@pytest.mark.parametrize(("script", "name"), [pair for pair in KEYS if pair[1] in ("counts", "wake")])
def test_what_only_counts_or_wakes_does_not_keep_a_transition_from_happening(
    line: LiveQueue, script: str, name: str
) -> None:
    call = call_of(script, line)
    kept = line.raw.dump(line.key("counts"))
    put_aside(line, name)
    before = everything(line)

    line.run(call)

    if script != "resume":
        assert everything(line) != before
    put_back(line, name)
    line.raw.delete(line.key("counts"))
    line.raw.restore(line.key("counts"), 0, kept)
    held = sum(len(line.snapshot().sets[state]) for state in SETS)
    line.raw.hset(line.key("counts"), mapping={"enqueued": held, "purged": 0, "trimmed": 0, "deleted": 0})


def test_a_command_that_is_not_allowed_is_never_passed_over(line: LiveQueue) -> None:
    """Without rights to look at the wake list every worker would sleep for ever, and nothing would say so."""
    job_id = line.add()
    claimed = line.claim_one()
    line.raw.execute_command("ACL", "SETUSER", "narrow", "on", "nopass", "~*", "+@all", "-llen")
    call = exchanges.exchange(
        line.name,
        run_id="w1",
        number=99,
        lease_ms=LEASE_MS,
        want=0,
        settlements=[Settlement(job_id, claimed.token, Outcome.RELEASE)],
    )

    with (
        connect_sync(line.url.replace("redis://", "redis://narrow:any@")) as store,
        pytest.raises(ScriptFault, match=r"NOPERM|permission|can't run"),
    ):
        store.run(call)

    line.raw.execute_command("ACL", "DELUSER", "narrow")
    assert line.state(job_id) is JobState.READY


def test_a_part_of_an_exchange_that_fails_takes_nothing_from_the_others(line: LiveQueue) -> None:
    ids = line.add_many(2)
    first = line.claim_one()
    line.raw.set(line.key("claim:w1"), b"foreign")  # the claim cannot read what it claimed last
    call = exchanges.exchange(
        line.name,
        run_id="w1",
        number=99,
        lease_ms=LEASE_MS,
        want=1,
        settlements=[Settlement(first.id, first.token, Outcome.COMPLETE)],
    )

    with pytest.raises(ScriptFault, match="claim failed in queue line"):
        line.run(call)

    assert line.state(ids[0]) is JobState.COMPLETED
    assert line.state(ids[1]) is JobState.READY
    line.raw.delete(line.key("claim:w1"))
    assert [job.id for job in line.run(call).claimed] == [ids[1]]
