"""Sends mail through an SMTP server: `SMTP_SERVER=localhost:25 leaseforge worker mails --queues mail`.

    Client().enqueue("send_mail", {"to": "ada@example.com", "subject": "Hello", "text": "..."}, queue="mail")

Jobs run at least once: a worker can die after the server took the mail and before the job was settled, and no mail can
be taken back. So the job's id is the Message-ID: every attempt sends the same one, by which whoever keeps the mailboxes
knows a repeat.
"""

import os
import smtplib
from email.message import EmailMessage
from email.utils import format_datetime

import msgspec

from leaseforge import Context, PermanentFailure, task

TIMEOUT_S = 20.0


class Mail(msgspec.Struct, forbid_unknown_fields=True):
    """One mail to one address: several would share one outcome, and be sent again for the sake of the last."""

    to: str
    subject: str
    text: str


class NotSent(Exception):
    """The server is away or asked for another try; the job is tried again with growing pauses."""


@task(max_attempts=10, timeout_s=3 * TIMEOUT_S, backoff_base_s=5, backoff_cap_s=1800)
def send_mail(ctx: Context, mail: Mail) -> str:
    """Hands the mail to the server and answers its Message-ID. smtplib blocks: a plain function runs in a thread."""
    message = compose(ctx, mail)
    host, _, port = os.environ.get("SMTP_SERVER", "localhost:25").partition(":")
    try:
        with smtplib.SMTP(host, int(port or 25), timeout=TIMEOUT_S) as server:
            server.send_message(message)
    except smtplib.SMTPRecipientsRefused as refusal:
        [(code, reason)] = refusal.recipients.values()
        raise _failure(code, reason) from refusal
    except (smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as refusal:
        raise _failure(refusal.smtp_code, refusal.smtp_error) from refusal
    except smtplib.SMTPNotSupportedError as error:
        raise PermanentFailure(f"the server cannot write to this address: {error}") from error
    except OSError as error:  # smtplib's other errors, and the network's
        raise NotSent(f"{host} does not take mail now: {error}") from error
    return str(message["Message-ID"])


def compose(ctx: Context, mail: Mail) -> EmailMessage:
    """The same message in every attempt: its id and its date are the job's."""
    sender = os.environ.get("SMTP_FROM", "jobs@localhost")
    message = EmailMessage()
    try:
        message["From"] = sender
        message["To"] = mail.to
        message["Subject"] = mail.subject
    except ValueError as error:  # a line break would be a header of the producer's own
        raise PermanentFailure(f"no header can hold this: {error}") from error
    if len(message["To"].addresses) != 1:
        raise PermanentFailure(f"{mail.to!r} is not one address")
    message["Message-ID"] = f"<{ctx.job_id}@{sender.rpartition('@')[2]}>"
    message["Date"] = format_datetime(ctx.job.created_at)
    message.set_content(mail.text)
    return message


def _failure(code: int, reason: bytes | str) -> Exception:
    """5xx is the server's last word, 4xx asks for another try."""
    text = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
    if 500 <= code < 600:
        return PermanentFailure(f"the server refuses: {code} {text}")
    return NotSent(f"the server asks to wait: {code} {text}")
