from collections.abc import Callable
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.identity import Identity
from leaseforge_auth.roles import Role, permissions_of
from leaseforge_console.views import palette
from tests.console import sample
from tests.console.browsing import Visitor, words

MANY = sample.snapshot(
    sample.queue("emails"),
    sample.queue("emails-bulk", paused=True),
    sample.queue("billing"),
    sample.worker(id="we/ird", host="node-1", pid=17),
)


def identity(role: Role) -> Identity:
    return Identity("ada", (role,), permissions_of([role]), "session")


def labels(query: str, role: Role = Role.ADMIN) -> list[str]:
    return [hit.label for hit in palette.find(query, identity(role), MANY)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("emails", "emails"),
        ("pause emails", "Pause emails…"),
        ("emails pause", "Pause emails…"),
        ("resume bulk", "Resume emails-bulk…"),
        ("purge bil", "Purge billing…"),
        ("dead", "Dead letters"),
        ("blng", "billing"),
        ("node-1:17", "node-1:17"),
        ("stop node", "Stop node-1:17…"),
        ("QUEUES", "Queues"),
        ("new user", "New user"),
    ],
)
def test_the_best_match_comes_first(query: str, first: str) -> None:
    assert labels(query)[0] == first


def test_what_somebody_may_not_do_or_see_is_not_offered() -> None:
    offered = labels("emails", Role.VIEWER)

    assert "emails" in offered
    assert not any(label.startswith(("Pause", "Purge")) for label in offered)
    assert "New user" not in labels("new", Role.VIEWER)
    nobody = Identity("ada", (), frozenset(), "session")
    assert [hit.label for hit in palette.find("", nobody, MANY)] == ["API", "Account"]
    assert not any(hit.kind == "queue" for hit in palette.find("emails", nobody, MANY))


def test_the_answer_is_bounded_and_begins_with_pages() -> None:
    many = sample.snapshot(*(sample.queue(f"queue-{number}") for number in range(900)))

    assert len(palette.find("queue", identity(Role.ADMIN), many)) == palette.MOST
    assert labels("")[:3] == ["Overview", "Queues", "Jobs"]
    assert palette.find("zzz", identity(Role.ADMIN), many) == ()


def test_addresses_carry_whatever_a_worker_is_called() -> None:
    [hit] = [hit for hit in palette.find("node-1:17", identity(Role.ADMIN), MANY) if hit.kind == "worker"]

    assert hit.path == "/workers/we%2Fird"


def test_jobs_found_by_id_come_before_all_else() -> None:
    job = sample.job(JobState.DEAD)

    first = palette.find("8f3b0c52", identity(Role.ADMIN), MANY, [job])[0]

    assert (first.label, first.kind) == (f"{job.id} charge_card", "dead job")


async def test_options_are_a_piece_for_the_list(operator: Visitor, store: Store) -> None:
    await store.run(operations.enqueue(new_job("echo", queue="mail")))

    answer = await operator.get("/console/palette?q=mail", htmx=True)

    assert answer.text.strip().startswith("<a")
    assert 'href="/console/queues/mail"' in answer.text
    assert (await operator.get("/console/palette?q=" + "x" * 5000, htmx=True)).text.strip() == ""


async def test_an_ids_beginning_finds_recent_jobs_and_only_for_those_who_may_read_them(
    visit: Callable[[Role], Any], store: Store
) -> None:
    enqueued = await store.run(operations.enqueue(new_job("echo", queue="mail")))
    viewer: Visitor = await visit(Role.VIEWER)

    assert enqueued.id in words((await viewer.get(f"/console/palette?q={enqueued.id[:7].upper()}")).text)
    assert enqueued.id not in (await viewer.get(f"/console/palette?q={enqueued.id[:4]}")).text


async def test_single_keys_can_be_switched_off_and_on(operator: Visitor) -> None:
    await operator.get("/console/account")
    assert 'data-keys="on"' in (await operator.get("/console/account")).text

    answer = await operator.post("/console/keys", keys="off")

    assert answer.headers["location"] == "/console/account"
    assert 'data-keys="off"' in (await operator.get("/console")).text
    await operator.post("/console/keys", keys="on")
    assert 'data-keys="on"' in (await operator.get("/console")).text
    assert (await operator.post("/console/keys", keys="maybe")).status_code == 400
