"""register_worker and deregister_worker: who lives, and what operators want of it."""

from typing import Any

import msgspec
import pytest

from leaseforge import exchanges, operations, reads
from leaseforge.errors import BadInput, WorkerNotFound
from leaseforge.keys import worker_command_key
from leaseforge.workers import ReportedJob, WorkerReport, WorkerState
from tests.support.live_queue import LiveQueue
from tests.support.sample_calls import REPORT


def report(**fields: Any) -> WorkerReport:
    return msgspec.structs.replace(REPORT, **fields)


def test_a_worker_is_listed_as_it_reports_itself(line: LiveQueue) -> None:
    running = (ReportedJob("j", "line", "work", 7, 1000),)

    line.run(
        exchanges.register_worker(
            report(state=WorkerState.QUIET, running=running, running_count=1, longest_renewal_gap_ms=9)
        )
    )

    page = line.run(reads.workers())
    [worker] = page.items
    assert page.total == 1
    assert (worker.id, worker.host, worker.pid, worker.version) == ("w1", "host", 1, "1")
    assert (worker.queues, worker.types, worker.slots) == (("line", "other"), ("work",), 2)
    assert (worker.state, worker.running_count, worker.longest_renewal_gap_ms) == (WorkerState.QUIET, 1, 9)
    assert [(job.id, job.fence, job.started_at.timestamp()) for job in worker.running] == [("j", 7, 1.0)]


def test_the_live_workers_of_each_queue_are_counted(line: LiveQueue) -> None:
    line.run(exchanges.register_worker(report(id="w1", queues=("line",))))

    registered = line.run(exchanges.register_worker(report(id="w2", queues=("line", "other"))))

    assert registered.consumers == {"line": 2, "other": 1}
    assert registered.command == ""


def test_a_worker_that_fell_silent_is_lost_and_counts_no_more(line: LiveQueue) -> None:
    line.run(exchanges.register_worker(report(id="silent")))
    long_ago = line.now_ms() - REPORT.ttl_ms - 1000
    for key in ("workers", "consumers:line", "consumers:other"):
        line.raw.zadd(f"lf:{{sys}}:{key}", {"silent": long_ago}, xx=True)

    registered = line.run(exchanges.register_worker(report(id="w1")))

    assert registered.consumers == {"line": 1, "other": 1}
    states = {worker.id: worker.state for worker in line.run(reads.workers()).items}
    assert states == {"w1": WorkerState.RUNNING, "silent": WorkerState.LOST}


def test_a_lost_worker_is_forgotten_after_a_while(line: LiveQueue) -> None:
    line.run(exchanges.register_worker(report(id="silent")))
    line.raw.zadd("lf:{sys}:workers", {"silent": line.now_ms() - 20 * REPORT.ttl_ms - 1000}, xx=True)

    line.run(exchanges.register_worker(report(id="w1")))

    assert [worker.id for worker in line.run(reads.workers()).items] == ["w1"]
    assert 0 < line.raw.pttl("lf:{sys}:worker:silent") <= 20 * REPORT.ttl_ms


@pytest.mark.parametrize("command", ["quiet", "resume", "stop"])
def test_a_command_comes_with_each_answer_until_a_report_confirms_it(line: LiveQueue, command: str) -> None:
    line.run(exchanges.register_worker(report()))
    assert line.run(operations.command_worker("w1", command))

    lost, heard = (line.run(exchanges.register_worker(report())) for _ in range(2))
    confirmed, afterwards = (line.run(exchanges.register_worker(report(), heard=heard.command_id)) for _ in range(2))

    assert (lost.command, heard.command) == (command, command)
    assert lost.command_id == heard.command_id != ""
    assert (confirmed.command, confirmed.command_id, afterwards.command) == ("", "", "")
    assert not line.raw.exists(worker_command_key("w1"))


def test_a_newer_command_takes_the_place_of_one_not_confirmed_yet(line: LiveQueue) -> None:
    line.run(exchanges.register_worker(report()))
    line.run(operations.command_worker("w1", "quiet"))
    quiet = line.run(exchanges.register_worker(report()))

    line.run(operations.command_worker("w1", "resume"))
    resume = line.run(exchanges.register_worker(report(), heard=quiet.command_id))

    assert (quiet.command, resume.command) == ("quiet", "resume")
    assert resume.command_id != quiet.command_id


def test_a_command_outlives_the_time_between_two_reports_of_long_leases(line: LiveQueue) -> None:
    line.run(exchanges.register_worker(report(ttl_ms=3_600_000)))

    line.run(operations.command_worker("w1", "stop"))

    assert line.raw.pttl(worker_command_key("w1")) > 3_600_000


def test_nobody_can_be_told_who_is_not_there(line: LiveQueue) -> None:
    assert not line.run(operations.command_worker("nobody", "stop"))
    assert not line.raw.exists(worker_command_key("nobody"))


@pytest.mark.parametrize("command", ["", "restart", "Quiet", "quiet ", None])
def test_a_word_no_worker_knows_is_refused(line: LiveQueue, command: Any) -> None:
    line.run(exchanges.register_worker(report()))

    with pytest.raises(BadInput, match="quiet, resume, stop"):
        line.run(operations.command_worker("w1", command))
    assert not line.raw.exists(worker_command_key("w1"))


def test_one_worker_is_read_by_its_id(line: LiveQueue) -> None:
    line.run(exchanges.register_worker(report()))

    assert line.run(reads.worker("w1")) == line.run(reads.workers()).items[0]
    for unknown in ("w2", "", "x" * 300, "\ud800"):
        with pytest.raises(WorkerNotFound):
            line.run(reads.worker(unknown))
        assert not line.run(operations.command_worker(unknown, "stop"))


def test_all_workers_are_read_page_by_page(line: LiveQueue) -> None:
    for number in range(230):
        line.run(exchanges.register_worker(report(id=f"w{number}")))

    assert {worker.id for worker in line.run(reads.all_workers())} == {f"w{number}" for number in range(230)}
    with pytest.raises(BadInput):
        line.run(reads.workers(limit=101))


@pytest.mark.parametrize("damage", ["", "quiet", "1 2 3", "  "])
def test_a_command_that_cannot_be_read_is_none(line: LiveQueue, damage: str) -> None:
    line.raw.set(worker_command_key("w1"), damage)

    registered = line.run(exchanges.register_worker(report()))

    assert (registered.command, registered.consumers) == ("", {"line": 1, "other": 1})


def test_a_worker_that_leaves_is_gone_from_everywhere(line: LiveQueue) -> None:
    line.run(exchanges.register_worker(report(id="w1")))
    line.run(exchanges.register_worker(report(id="w2")))
    line.raw.set(worker_command_key("w1"), "stop")

    line.run(exchanges.deregister_worker("w1", REPORT.queues))

    assert [worker.id for worker in line.run(reads.workers()).items] == ["w2"]
    assert line.raw.zrange("lf:{sys}:consumers:line", 0, -1) == [b"w2"]
    assert not line.raw.exists("lf:{sys}:worker:w1", worker_command_key("w1"))


def test_workers_are_paged_the_last_seen_first(line: LiveQueue) -> None:
    for number in range(5):
        line.run(exchanges.register_worker(report(id=f"w{number}")))
        line.raw.zadd("lf:{sys}:workers", {f"w{number}": line.now_ms() - 1000 + number})

    page = line.run(reads.workers(offset=1, limit=2))

    assert ([worker.id for worker in page.items], page.total) == (["w3", "w2"], 5)


@pytest.mark.parametrize("damage", [b"", b"\xc1", msgspec.msgpack.encode({"id": 7}), None])
def test_a_report_that_cannot_be_read_hides_no_other_worker(line: LiveQueue, damage: bytes | None) -> None:
    line.run(exchanges.register_worker(report(id="w1")))
    line.run(exchanges.register_worker(report(id="w2")))
    if damage is None:
        line.raw.delete("lf:{sys}:worker:w1")
    else:
        line.raw.set("lf:{sys}:worker:w1", damage)

    assert [worker.id for worker in line.run(reads.workers()).items] == ["w2"]
