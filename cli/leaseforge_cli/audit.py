"""`leaseforge audit`: checks the trail with the secret of the installation, or writes it out."""

import asyncio
import sys

import click

from leaseforge_api.settings import ServerSettings
from leaseforge_auth.audit.chain import Chain, Head
from leaseforge_auth.audit.lines import as_line
from leaseforge_auth.audit.search import Filter, export
from leaseforge_auth.audit.verification import Verdict, verify
from leaseforge_cli.exits import CommandFailed, ExitCode
from leaseforge_cli.installation import connected, server_settings


class HeadText(click.ParamType[Head]):
    """A head as `verify` prints it: sequence:seal."""

    name = "sequence:seal"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Head:
        """The head, or a usage error."""
        if isinstance(value, Head):
            return value
        sequence, _, mac = str(value).partition(":")
        if not sequence.isdecimal() or len(mac) != 64:
            self.fail("must be a head that `leaseforge audit verify` printed, such as 1200:4f0c...", param, ctx)
        return Head(int(sequence), mac)


@click.group()
def audit() -> None:
    """Check the audit trail, or write it out.

    Needs the server's settings: LEASEFORGE_REDIS_URL and LEASEFORGE_AUTH_SECRET (all secrets that were in use since
    the oldest entry).
    """


@audit.command("verify")
@click.option("--head", type=HeadText(), help="a head printed earlier: its entry must still be there, unchanged")
def verify_trail(head: Head | None) -> int:
    """Find entries that were removed, altered or put in another order; exit status 1 if there are any."""
    settings = server_settings()
    verdict = asyncio.run(_verify(settings, head))
    if verdict.checked and verdict.foreign == verdict.checked:
        raise CommandFailed(
            f"all {verdict.checked:,} entries are sealed with a key that is not among LEASEFORGE_AUTH_SECRET: "
            "give all secrets that were in use since the oldest entry"
        )
    for finding in verdict.findings:
        click.echo(f"entry {finding.sequence}: {finding.message}")
    if not verdict.is_intact:
        click.echo(f"NOT INTACT: {len(verdict.findings)} findings in {verdict.checked:,} entries", err=True)
        return ExitCode.FAILED
    click.echo(f"intact: {verdict.checked:,} entries, from {verdict.first} to {verdict.head.sequence}")
    if verdict.head.sequence:
        click.echo(f"head: {verdict.head.sequence}:{verdict.head.mac}")
    return ExitCode.OK


@audit.command("export")
def export_trail() -> None:
    """Write all actions to the output, oldest first, one JSON object a line."""
    asyncio.run(_export(server_settings()))


async def _verify(settings: ServerSettings, head: Head | None) -> Verdict:
    async with connected(settings) as store:
        return await verify(store, Chain(settings.auth.auth_secret), expected=head)


async def _export(settings: ServerSettings) -> None:
    async with connected(settings) as store:
        async for row in export(store, Filter()):
            sys.stdout.buffer.write(as_line(row))
