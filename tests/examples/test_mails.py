"""The mail example: what is sent, what is tried again, what is refused for good, and what a repeat looks like."""

from collections.abc import Iterator
from typing import Any

import pytest

from examples.mails import NotSent, send_mail
from leaseforge import Client, JobState
from leaseforge.testing import run_task
from leaseforge_worker.worker import Worker
from tests.examples.smtp_server import MailServer
from tests.support import eventually_sync, free_port

MAIL = {"to": "ada@example.com", "subject": "Grüße", "text": "Hello\n.\nAda\n"}
JOB = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def smtp(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    with MailServer() as made:
        monkeypatch.setenv("SMTP_SERVER", made.address)
        monkeypatch.setenv("SMTP_FROM", "jobs@example.org")
        yield made


def test_a_mail_is_sent_under_its_jobs_id(smtp: MailServer) -> None:
    trial = run_task(send_mail, MAIL, id=JOB).raise_if_failed()

    assert trial.result == f"<{JOB}@example.org>"
    [mail] = smtp.mailbox.values()
    assert (mail["To"], mail["From"], mail["Message-ID"]) == ("ada@example.com", "jobs@example.org", trial.result)
    body = mail.get_payload(decode=True)
    assert isinstance(body, bytes)
    assert body.decode().replace("\r\n", "\n") == MAIL["text"]


def test_a_second_attempt_sends_the_same_mail_and_the_mailbox_holds_one(smtp: MailServer) -> None:
    first = run_task(send_mail, MAIL, id=JOB)
    second = run_task(send_mail, MAIL, id=JOB, attempt=2, fence=2)

    assert first.result == second.result
    assert (smtp.taken, len(smtp.mailbox)) == (2, 1)


@pytest.mark.parametrize(
    ("verb", "answer"),
    [("RCPT", "450 mailbox busy"), ("MAIL", "451 try later"), ("END", "452 disk full"), ("EHLO", "421 going down")],
)
def test_a_server_in_trouble_is_tried_again(smtp: MailServer, verb: str, answer: str) -> None:
    smtp.answers = {verb: [answer], "HELO": [answer]}

    trial = run_task(send_mail, MAIL)

    assert (trial.state, type(trial.exception)) == (JobState.RETRYING, NotSent)


def test_a_server_that_is_away_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP_SERVER", f"127.0.0.1:{free_port()}")

    assert type(run_task(send_mail, MAIL).exception) is NotSent


@pytest.mark.parametrize(
    ("verb", "answer"), [("RCPT", "550 no such mailbox"), ("MAIL", "553 not you"), ("END", "554 spam")]
)
def test_a_refusal_is_final(smtp: MailServer, verb: str, answer: str) -> None:
    smtp.answers = {verb: [answer]}

    trial = run_task(send_mail, MAIL)

    assert (trial.state, trial.reason) == (JobState.DEAD, "permanent")
    assert trial.error is not None
    assert answer in trial.error.message


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"subject": "x\r\nBcc: all@example.com"}, "permanent"),
        ({"to": "ada@example.com, all@example.com"}, "permanent"),
        ({"to": ""}, "permanent"),
        ({"bcc": "all@example.com"}, "bad_payload"),
    ],
)
def test_what_is_no_mail_is_refused_for_good_and_never_sent(
    smtp: MailServer, change: dict[str, Any], reason: str
) -> None:
    trial = run_task(send_mail, MAIL | change)

    assert (trial.state, trial.reason, smtp.taken) == (JobState.DEAD, reason, 0)


def test_a_worker_sends_it(smtp: MailServer, redis_url: str) -> None:
    with Client(redis_url) as client, Worker.of([send_mail], redis_url=redis_url, queues="mail"):
        job_id = client.enqueue("send_mail", MAIL, queue="mail").id
        eventually_sync(lambda: client.job(job_id).state is JobState.COMPLETED)

    assert list(smtp.mailbox) == [f"<{job_id}@example.org>"]
