"""`leaseforge enqueue`: a job from the command line."""

import http
import sys
import uuid
from pathlib import Path
from typing import Any

import click
import msgspec

from leaseforge import limits
from leaseforge.settings import seconds
from leaseforge_cli.client_command import api
from leaseforge_cli.client_output import cell, json_option
from leaseforge_cli.exits import CommandFailed, ExitCode
from leaseforge_cli.options import Parsed

DELAY = Parsed(seconds(0, limits.MAX_DELAY_MS / 1000))
TIMEOUT = Parsed(seconds(0.001, limits.MAX_TIMEOUT_MS / 1000))
UNIQUE_TTL = Parsed(seconds(1, limits.MAX_UNIQUE_TTL_MS / 1000))


@click.command()
@click.argument("type")
@click.argument("payload", required=False, metavar="[JSON | @FILE | -]")
@click.option("--queue", help="the queue  [default: default]")
@click.option("--priority", type=int, help="higher runs first  [default: 0]")
@click.option("--delay", "delay_seconds", type=DELAY, metavar="SECONDS", help="not before; 30, 5m, 12h")
@click.option("--max-attempts", type=int, help="failures until it is dead, 0: without limit  [default: the task's]")
@click.option("--timeout", "timeout_seconds", type=TIMEOUT, metavar="SECONDS", help="the longest an attempt may take")
@click.option("--unique-key", help="while a live job of the queue holds it, no other is stored")
@click.option("--unique-ttl", "unique_ttl_seconds", type=UNIQUE_TTL, metavar="SECONDS", help="how long at most")
@click.option("--tag", "tags", multiple=True, help="may be given several times")
@click.option("--idempotency-key", help="makes a repeat of this command safe for 24 hours")
@json_option
def enqueue(type: str, payload: str | None, idempotency_key: str | None, as_json: bool, **options: Any) -> None:
    """Store a job of a TYPE, which is the name of its task, and print its id.

    The payload is any JSON, {} if none is given: on the command line, in a file (@FILE), or from the input (-). It
    reaches the task byte for byte.
    """
    asked = {name: value for name, value in options.items() if value not in (None, ())}
    content = _payload(payload)
    request: dict[str, Any] = {"type": type} | asked
    if content is not None:
        request["payload"] = msgspec.Raw(content)
    with api() as client:
        # Without a key of its own a request whose answer is lost could not be sent again.
        answer = client.send("POST", "jobs", body=request, key=idempotency_key or str(uuid.uuid4()))
    job = answer.json()
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(answer.body, indent=2) + b"\n")
        return
    click.echo(job["id"])
    if answer.status == http.HTTPStatus.OK:
        click.echo(f"not new: an earlier request stored it, it is {cell(job['status'])}", err=True)


def _payload(text: str | None) -> bytes | None:
    """The JSON that was given. Raises CommandFailed if it cannot be read or is none."""
    if text is None:
        return None
    try:
        if text == "-":
            content = sys.stdin.buffer.read()
        else:
            content = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        content = content.strip()
        msgspec.json.decode(content)
    except OSError as error:
        raise CommandFailed(f"{text[1:]} cannot be read: {error.strerror}", ExitCode.USAGE) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise CommandFailed(f"the payload is not JSON: {error}", ExitCode.USAGE) from error
    return content
