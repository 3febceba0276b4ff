"""`leaseforge probe`: asks the server or the worker beside it how it is; for containers, which have no other client."""

import http.client
import os
from collections.abc import Mapping

import click

from leaseforge.errors import FieldProblem, SettingsError
from leaseforge.settings import address
from leaseforge_cli.exits import CommandFailed, ExitCode

TIMEOUT_S = 5.0
# Variable and default of each part's address. The settings classes themselves would load the web framework: too much
# work for something that runs every few seconds.
ADDRESSES = {
    "server": ("LEASEFORGE_API_ADDR", "127.0.0.1:8080"),
    "worker": ("LEASEFORGE_METRICS_ADDR", "127.0.0.1:8081"),
}
# Whoever listens on every interface is reached by the loopback one of the same family.
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - looked up, not bound to


@click.command()
@click.argument("part", type=click.Choice(sorted(ADDRESSES)))
@click.option("--ready", is_flag=True, help="ask whether it takes work, which needs Redis, not only whether it lives")
def probe(part: str, ready: bool) -> None:
    """Ask the server or worker of this environment whether it lives.

    Ends with 0 for yes and 1 for no. Reads LEASEFORGE_API_ADDR or LEASEFORGE_METRICS_ADDR, like the part itself.
    """
    host, port = where(part, os.environ)
    path = "/ready" if ready else "/livez"
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise CommandFailed(f"no answer from the {part} at {host} port {port}: {reason}") from error
    finally:
        connection.close()
    if status != http.HTTPStatus.OK:
        raise CommandFailed(f"the {part} answers {status} to {path}")
    click.echo(f"{part}: {'ready' if ready else 'alive'}")


def where(part: str, environ: Mapping[str, str]) -> tuple[str, int]:
    """Host and port to ask. Raises SettingsError for a wrong address, CommandFailed for a part that does not listen."""
    variable, default = ADDRESSES[part]
    text = environ.get(variable) or default
    if part == "worker" and text.strip().lower() == "off":
        raise CommandFailed(f"{variable} is off: the worker answers nobody", ExitCode.SETTINGS)
    try:
        host, port = address(text)
    except ValueError as error:
        raise SettingsError([FieldProblem(variable, str(error))]) from error
    return _LOOPBACK.get(host, host), port
