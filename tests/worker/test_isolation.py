"""Attempts in child processes, without Redis: how each way of ending is settled, and what becomes of the child."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leaseforge.exchanges import Outcome
from leaseforge.jobs import Options
from leaseforge.limits import MAX_RESULT_BYTES
from leaseforge.registry import Registry
from leaseforge.tasks import AnyTask, TaskError, task
from leaseforge_worker import attempt, child_process, children
from leaseforge_worker.held import Held, Stop
from tests.support.waiting import eventually
from tests.worker import isolated_tasks as tasks
from tests.worker.builders import claimed
from tests.worker.runner import Runner

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")

Run = Callable[..., Runner]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


async def noted(path: Path) -> list[int]:
    """The process ids that a handler wrote."""
    await eventually(path.exists, within_s=30)
    return [int(word) for word in path.read_text().split()]


async def result(runner: Runner, type: str, payload: Any = None) -> Any:
    """What a job of this type gave back."""
    settlement = await runner.settlement(type, json.dumps(payload).encode())
    assert settlement.outcome is Outcome.COMPLETE, settlement
    return json.loads(settlement.result)


def quoted(path: Path) -> bytes:
    return json.dumps(str(path)).encode()


async def test_handlers_run_one_after_the_other_in_a_process_of_their_own(running: Run) -> None:
    runner = running(tasks.who)

    first = await result(runner, "who")
    second = await result(runner, "who")

    assert first["pid"] == second["pid"] != os.getpid()
    assert (first["runs"], second["runs"]) == (1, 2)
    assert first["leads"]
    assert (first["job"], first["attempt"], first["cancelled"], first["at_risk"]) == (
        runner.ended[0].claimed.id,
        1,
        False,
        False,
    )
    assert runner.attempts.children == 1


async def test_as_many_children_as_jobs_at_once_and_nothing_open_but_their_own(running: Run, tmp_path: Path) -> None:
    runner = running(tasks.looks, tasks.who, slots=3)
    with (tmp_path / "secret").open("wb") as secret:
        os.set_inheritable(secret.fileno(), True)
        jobs = [runner.start("looks", quoted(tmp_path / str(number))) for number in range(3)]
        pids = {pid for number in range(3) for pid in await noted(tmp_path / str(number))}
        open_there = {os.readlink(path) for pid in pids for path in Path(f"/proc/{pid}/fd").iterdir()}  # noqa: PTH115

    assert (len(pids), runner.attempts.children) == (3, 3)
    assert str(tmp_path / "secret") not in open_there
    assert sum(what.startswith("socket:") for what in open_there) == 3
    for job in jobs:
        runner.attempts.stop(job, Stop.CANCELLED)
        await runner.end(job)
    assert (await result(runner, "who"))["pid"] in pids


async def test_few_children_start_at_a_time_and_serve_all_that_wait(running: Run) -> None:
    runner = running(tasks.who, slots=10)

    jobs = [runner.start("who") for _ in range(10)]
    assert runner.attempts.children == children.START_AT_ONCE
    settlements = [await runner.end(job) for job in jobs]

    found = [json.loads(settlement.result) for settlement in settlements if settlement is not None]
    assert {one["job"] for one in found} == {job.claimed.id for job in jobs}
    assert len({one["pid"] for one in found}) <= runner.attempts.children <= 10


async def test_a_payload_and_a_result_of_the_largest_size_pass(running: Run) -> None:
    runner = running(tasks.echo, tasks.big)

    assert (await runner.settlement("echo", os.urandom(1024 * 1024))).error_kind == "result_too_large"
    body = os.urandom(MAX_RESULT_BYTES)
    assert (await runner.settlement("echo", body)).result == body
    assert (await runner.settlement("big", str(MAX_RESULT_BYTES + 1).encode())).error_kind == "result_too_large"
    assert runner.attempts.children == 1


@pytest.mark.parametrize(
    ("how", "kind", "permanent"),
    [
        ("lookup", "LookupError", ""),
        ("permanent", "PermanentFailure", "permanent"),
        ("exit", "SystemExit", ""),
        ("unpicklable", "Unpicklable", ""),
    ],
)
async def test_what_a_handler_raises_arrives_as_elsewhere(running: Run, how: str, kind: str, permanent: str) -> None:
    settlement = await running(tasks.raises).settlement("raises", json.dumps(how).encode())

    assert (settlement.outcome, settlement.error_kind, settlement.permanent) == (Outcome.FAIL, kind, permanent)
    assert "in raises" in settlement.traceback
    assert "leaseforge_worker" not in settlement.traceback


async def test_a_coroutine_runs_on_a_loop_of_the_child(running: Run) -> None:
    settlement = await running(tasks.raises_async).settlement("raises_async")

    assert (settlement.error_kind, settlement.error_message) == ("LookupError", "no such customer")
    assert settlement.traceback.splitlines()[1].endswith("in raises_async")


async def test_a_payload_is_read_in_the_child(running: Run) -> None:
    runner = running(tasks.takes_order)

    assert await result(runner, "takes_order", {"n": 7}) == 7
    settlement = await runner.settlement("takes_order", b'{"n": "seven"}')
    assert (settlement.error_kind, settlement.permanent) == ("bad_payload", "bad_payload")


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("segfault", "SIGSEGV"),
        ("exit", "exit_status_1"),
        ("kill", "SIGKILL"),
        ("half a reply", "exit_status_0"),
        ("closed", "SIGKILL"),
    ],
)
async def test_the_death_of_a_child_is_a_crash_of_its_job_alone(
    running: Run, tmp_path: Path, how: str, kind: str
) -> None:
    runner = running(tasks.dies, tasks.looks, tasks.who)
    beside = runner.start("looks", quoted(tmp_path / "beside"))
    await noted(tmp_path / "beside")

    settlement = await runner.settlement("dies", json.dumps(how).encode(), recoveries=2)

    assert (settlement.outcome, settlement.error_kind) == (Outcome.CRASH, kind)
    assert "child process" in settlement.error_message
    assert 0 < settlement.delay_ms <= 4_000
    assert runner.attempts.children == 1
    assert not beside.ended
    assert (await result(runner, "who"))["runs"] == 1


async def test_a_child_that_cuts_itself_off_is_killed(running: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_LAST_WORDS_S", 0.05)
    settlement = await running(tasks.shuts_its_mouth).settlement("shuts_its_mouth")

    assert (settlement.outcome, settlement.error_kind) == (Outcome.CRASH, "connection_lost")


async def test_too_much_memory_is_a_failure_and_the_next_job_gets_a_fresh_process(running: Run) -> None:
    runner = running(tasks.eats_memory)

    first = await result(runner, "eats_memory", 32)
    settlement = await runner.settlement("eats_memory", b"128")
    second = await result(runner, "eats_memory", 32)

    assert (settlement.outcome, settlement.error_kind) == (Outcome.FAIL, "MemoryError")
    assert first != second


async def test_memory_that_attempts_leave_behind_ends_their_process(running: Run) -> None:
    runner = running(tasks.leaks)

    pids = [await result(runner, "leaks", 20) for _ in range(5)]

    assert len(set(pids)) == 2
    assert pids == sorted(pids, key=pids.index)


async def test_processor_time_is_counted_anew_for_each_job(running: Run) -> None:
    runner = running(tasks.eats_cpu)

    fine = [await result(runner, "eats_cpu", 0.5) for _ in range(3)]
    settlement = await runner.settlement("eats_cpu", b"30")

    assert len(set(fine)) == 1
    assert (settlement.outcome, settlement.error_kind) == (Outcome.CRASH, "SIGXCPU")
    assert "more than 1 s" in settlement.error_message


@pytest.mark.parametrize("reason", [Stop.TIMEOUT, Stop.CANCELLED, Stop.RELEASED, Stop.FENCED])
@pytest.mark.parametrize("name", ["waits", "looks"])
async def test_a_handler_that_listens_is_told_to_end_and_keeps_its_process(
    running: Run, tmp_path: Path, name: str, reason: Stop
) -> None:
    runner = running(tasks.waits, tasks.looks, tasks.who)
    job = runner.start(name, quoted(tmp_path / "began"))
    [pid] = await noted(tmp_path / "began")

    runner.attempts.stop(job, reason)
    settlement = await runner.end(job)

    expected = {
        Stop.TIMEOUT: Outcome.FAIL,
        Stop.CANCELLED: Outcome.CANCELLED,
        Stop.RELEASED: Outcome.RELEASE,
        Stop.FENCED: None,
    }[reason]
    if name == "looks" and reason is not Stop.FENCED:
        expected = Outcome.COMPLETE  # it finished although it was told to end
    assert (settlement and settlement.outcome) == expected
    if name == "waits":
        assert (tmp_path / "began.stopped").read_text() == "True"
    assert (await result(runner, "who"))["pid"] == pid


@pytest.mark.parametrize("name", ["deaf", "holds_the_interpreter"])
async def test_one_that_does_not_listen_is_killed_after_a_grace(running: Run, tmp_path: Path, name: str) -> None:
    runner = running(tasks.deaf, tasks.holds_the_interpreter)
    job = runner.start(name, quoted(tmp_path / "began"), options=Options(timeout_ms=50))
    [pid] = await noted(tmp_path / "began")

    await eventually(lambda: job.started_at > 0)
    runner.clock.now += 0.05
    await eventually(lambda: job.stop is Stop.TIMEOUT)
    assert not job.ended
    runner.clock.now += attempt.GRACE_S
    settlement = await runner.end(job)

    assert settlement is not None
    assert (settlement.error_kind, settlement.timed_out) == ("timeout", True)
    await eventually(lambda: not is_alive(pid))
    assert (runner.attempts.abandoned, runner.worn_out, runner.attempts.children) == (0, 0, 0)


async def test_a_job_whose_child_is_still_starting_has_not_begun(running: Run, tmp_path: Path) -> None:
    runner = running(tasks.waits, tasks.who)
    job = runner.start("waits", quoted(tmp_path / "began"), options=Options(timeout_ms=10))
    runner.clock.now += 3600

    assert job.started_at == 0
    runner.attempts.stop(job, Stop.RELEASED)
    settlement = await runner.end(job)

    assert settlement is not None
    assert settlement.outcome is Outcome.RELEASE
    assert (await result(runner, "who"))["runs"] == 1
    assert runner.attempts.children == 1
    assert not (tmp_path / "began").exists()


@pytest.mark.parametrize("how", ["killed", "died"])
async def test_what_a_handler_started_goes_with_its_process(running: Run, tmp_path: Path, how: str) -> None:
    runner = running(tasks.has_children)
    job = runner.start("has_children", quoted(tmp_path / "began"))
    pids = await noted(tmp_path / "began")
    assert all(map(is_alive, pids))

    if how == "killed":
        runner.attempts.stop(job, Stop.CANCELLED)
        runner.clock.now += attempt.GRACE_S
    else:
        os.kill(pids[0], signal.SIGSEGV)
    await runner.end(job)

    await eventually(lambda: not any(map(is_alive, pids)))


async def test_a_fork_that_comes_back_from_the_handler_says_nothing(running: Run) -> None:
    runner = running(tasks.comes_back_twice)

    assert await result(runner, "comes_back_twice") == 1
    assert await result(runner, "comes_back_twice") == 1


async def test_what_a_handler_says_and_asks_for_reaches_the_worker(running: Run) -> None:
    runner = running(tasks.speaks)
    job = runner.start("speaks")
    settlement = await runner.end(job)

    assert settlement is not None
    assert (settlement.outcome, len(settlement.follow_ups)) == (Outcome.COMPLETE, 200)
    first, second = settlement.follow_ups[:2]
    assert json.loads(settlement.result) == [first.id, second.id]
    assert (first.payload, second.payload, second.queue, second.priority) == (b'{"n":1}', b"raw", "other", 3)
    said = job.words.message() if job.words else None
    assert said is not None
    assert said.lines == ("first", "refused: 1", "too many", "last")
    assert said.progress == (100, "")


async def test_what_was_said_before_a_crash_is_kept(running: Run) -> None:
    runner = running(tasks.speaks_and_dies)
    job = runner.start("speaks_and_dies")
    settlement = await runner.end(job)

    assert settlement is not None
    assert settlement.error_kind == "exit_status_7"
    said = job.words.message() if job.words else None
    assert said is not None
    assert said.lines == ("about to die",)


async def test_a_context_of_an_ended_attempt_takes_nothing_more(running: Run) -> None:
    runner = running(tasks.keeps_its_context)

    assert await result(runner, "keeps_its_context") == "taken"
    assert await result(runner, "keeps_its_context") == "ended"


async def test_middleware_surrounds_a_handler_in_its_process(running: Run) -> None:
    runner = running(registry=Registry([tasks.marked], middleware=[tasks.outer]))
    job = runner.start("marked")
    settlement = await runner.end(job)

    assert settlement is not None
    pid = int(settlement.result)
    said = job.words.message() if job.words else None
    assert said is not None
    assert said.lines == (f"outer {pid}", f"own {pid}")


async def test_what_a_handler_prints_goes_to_standard_error(running: Run, capfd: pytest.CaptureFixture[str]) -> None:
    await running(tasks.prints).settlement("prints")

    said = capfd.readouterr()
    assert "printed by a handler" in said.err
    assert "written by a handler" in said.err
    assert "by a handler" not in said.out


async def test_a_program_makes_tasks_of_importable_functions(running: Run) -> None:
    assert await result(running(task(name="shout", isolate=True)(tasks.bare)), "shout", "hi") == "HI"


async def test_a_lease_that_may_be_over_is_seen_and_one_that_is_renewed_is_not(running: Run, tmp_path: Path) -> None:
    runner = running(tasks.sees_risk)
    job = Held(claimed("sees_risk", payload=quoted(tmp_path / "began")), confirmed_at=time.monotonic(), lease_s=3.0)
    runner.attempts.start(job)
    await noted(tmp_path / "began")
    for _ in range(4):
        job.confirmed_at = confirmed_at = time.monotonic()
        await eventually(lambda: time.monotonic() > confirmed_at + 1.0)  # noqa: B023 -- looked at before the next turn
    assert not job.ended
    last = job.confirmed_at

    await runner.end(job)

    assert time.monotonic() >= last + 3.0


async def test_a_child_that_has_nothing_to_do_goes(running: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "IDLE_S", 0.05)
    runner = running(tasks.who)
    pid = (await result(runner, "who"))["pid"]

    await eventually(lambda: runner.attempts.children == 0)
    await eventually(lambda: not is_alive(pid))
    assert (await result(runner, "who"))["pid"] != pid


async def test_an_idle_child_that_somebody_kills_is_replaced(running: Run) -> None:
    runner = running(tasks.who)
    pid = (await result(runner, "who"))["pid"]

    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: runner.attempts.children == 0)

    assert (await result(runner, "who"))["runs"] == 1


async def test_signals_that_a_terminal_or_a_service_manager_sends_to_all_are_for_the_worker(
    running: Run, tmp_path: Path
) -> None:
    runner = running(tasks.waits)
    job = runner.start("waits", quoted(tmp_path / "began"))
    [pid] = await noted(tmp_path / "began")

    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(pid, number)
    runner.attempts.stop(job, Stop.RELEASED)
    settlement = await runner.end(job)

    assert (tmp_path / "began.stopped").exists()
    assert settlement is not None
    assert settlement.outcome is Outcome.RELEASE


async def test_a_worker_that_closes_leaves_no_process(running: Run, tmp_path: Path) -> None:
    runner = running(tasks.who, tasks.deaf)
    runner.start("deaf", quoted(tmp_path / "began"))
    await noted(tmp_path / "began")
    await result(runner, "who")
    pids = {int(entry.name) for entry in Path("/proc").glob("[1-9]*") if _parent(entry) == os.getpid()}

    runner.attempts.close()

    assert len(pids) >= 3  # two children and their guardian, beside what the tests keep running
    assert sum(map(is_alive, pids)) == len(pids) - 3


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return -1


async def test_a_module_that_children_cannot_import_fails_jobs_in_the_ordinary_way(
    running: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "goes_away.py").write_text("from leaseforge import task\n@task(isolate=True)\ndef lost(ctx): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    module: Any = __import__("goes_away")
    runner = running(module.lost)
    (tmp_path / "goes_away.py").unlink()

    settlement = await runner.settlement("lost")

    assert (settlement.outcome, settlement.error_kind) == (Outcome.FAIL, "child_not_started")
    assert "goes_away" in settlement.error_message


async def test_a_system_that_refuses_processes_fails_jobs_in_the_ordinary_way(
    running: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)

    settlement = await running(tasks.who).settlement("who")

    assert (settlement.outcome, settlement.error_kind) == (Outcome.FAIL, "child_not_started")
    assert "temporarily" in settlement.error_message


@pytest.mark.parametrize("how", ["local", "lambda", "main", "middleware"])
def test_what_a_child_could_not_find_is_refused_at_once(how: str) -> None:
    def local(ctx: Any) -> None: ...

    def main(ctx: Any) -> None: ...

    main.__module__, main.__qualname__ = "__main__", "main"
    functions: dict[str, Any] = {"local": local, "lambda": lambda ctx: None, "main": main, "middleware": tasks.bare}
    middleware = [tasks.Marks("nowhere")] if how == "middleware" else []
    one: AnyTask = task(name="t", isolate=True)(functions[how])
    registry = Registry([one], middleware=middleware)

    with pytest.raises(TaskError, match="task 't' cannot run in a child process: ") as refused:
        registry.whereabouts()

    word = {"local": "top of a module", "lambda": "lambda", "main": "started", "middleware": "Marks"}[how]
    assert word in str(refused.value)
