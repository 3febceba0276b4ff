"""What commands that use the API print: tables for people, JSON for programs, and questions before they destroy."""

import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import click
import msgspec

from leaseforge_cli.client import printable
from leaseforge_cli.exits import CommandFailed, ExitCode

F = TypeVar("F", bound=Callable[..., Any])
Columns = Mapping[str, Callable[[Mapping[str, Any]], object]]
_UNITS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "m"))
MIN_LAST_COLUMN = 20

json_option = click.option("--json", "as_json", is_flag=True, help="print what the server answered, as JSON")
yes_option = click.option("--yes", is_flag=True, help="do not ask")
reason_option = click.option("--reason", metavar="TEXT", help="why, for the audit trail")


def limit_option(what: str) -> Callable[[F], F]:
    """How many items a list shows."""
    return click.option(
        "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, metavar="N", help=f"most {what} shown"
    )


def search_options(command: F) -> F:
    """What lists of jobs can be narrowed down by, besides their queue and state."""
    for option in (
        click.option("--error", metavar="TEXT", help="with this text in the last error"),
        click.option("--created-by", metavar="USER", help="enqueued by this account"),
        click.option("--tag", help="with this tag"),
        click.option("--type", help="of this type"),
        click.option("--group", metavar="KEY", help="dead of this kind of failure (leaseforge dlq groups)"),
    ):
        command = option(command)
    return command


# Below space JSON escapes them itself; some terminals obey these too, or turn lines around.
_STEERING = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def print_json(value: Any) -> None:
    """A value as indented JSON, in which nothing steers the terminal."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    click.echo(_STEERING.sub(lambda one: f"\\u{ord(one[0]):04x}", text))


def print_table(items: Sequence[Mapping[str, Any]], columns: Columns) -> None:
    """A header and a line for each item; on a terminal the last column is cut where the line would be too long."""
    rows = [list(columns), *([cell(read(item)) for read in columns.values()] for item in items)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(columns))]
    before_last = sum(widths[:-1]) + 2 * (len(widths) - 1)
    room = max(MIN_LAST_COLUMN, shutil.get_terminal_size().columns - before_last) if sys.stdout.isatty() else None
    for row in rows:
        *most, last = row
        if room is not None and len(last) > room:
            last = last[: room - 1] + "\N{HORIZONTAL ELLIPSIS}"
        padded = [text.ljust(width) for text, width in zip(most, widths, strict=False)]
        click.echo("  ".join([*padded, last]).rstrip())


def print_page(page: Mapping[str, Any], columns: Columns, *, as_json: bool, noun: str) -> None:
    """A list; how many there are beyond what is shown goes to stderr, apart from the table."""
    if as_json:
        print_json(page)
        return
    items = page["items"]
    print_table(items, columns)
    total, searched = page.get("total"), page.get("searched")
    if total is not None and total > len(items):
        click.echo(f"{len(items):,} of {total:,} {noun}: --limit shows more", err=True)
    elif total is None and page.get("next"):
        click.echo(f"{len(items):,} {noun} among the {searched or 0:,} looked at: --limit shows more", err=True)


def print_fields(fields: Mapping[str, object]) -> None:
    """Names and values, one a line; what is not set is left out."""
    shown = {name: cell(value) for name, value in fields.items() if value not in (None, "", [], {})}
    width = max(map(len, shown), default=0)
    for name, text in shown.items():
        click.echo(f"{name.ljust(width)}  {text}")


def cell(value: object) -> str:
    """A value as one short line."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict | list):
        return printable(msgspec.json.encode(value).decode())
    return printable(str(value))


def ago(instant: str | None) -> str:
    """How long an instant is past, or ahead with a plus: 12s, 5m, 3h, 2d."""
    if instant is None:
        return "-"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(instant)).total_seconds()
    return ("" if seconds >= 0 else "+") + duration(abs(seconds))


def duration(seconds: float | None) -> str:
    """A time in its largest unit: 12s, 5m, 3h, 2d."""
    if seconds is None:
        return "-"
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def several(count: int, noun: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def can_ask() -> bool:
    """Whether somebody sits at a terminal."""
    return sys.stdin.isatty()


def confirm(question: str, *, yes: bool) -> None:
    """Goes on only if it is wanted. Raises CommandFailed if not, or where nobody can be asked."""
    if yes:
        return
    if not can_ask():
        raise CommandFailed(f"{question} Nobody can be asked here: --yes says so", ExitCode.USAGE)
    if not click.confirm(question, err=True):
        raise CommandFailed("nothing was done")


def for_each(ids: Sequence[str], act: Callable[[str], object], *, done: str) -> int:
    """Does it to each; the exit code of the first that failed. One line each, failures on stderr."""
    code: int = ExitCode.OK
    for one in ids:
        try:
            act(one)
        except CommandFailed as error:
            if error.code in (ExitCode.API_UNAVAILABLE, ExitCode.NOT_LOGGED_IN):
                raise
            click.echo(f"{printable(one)}: {error}", err=True)
            code = code or error.code
        else:
            click.echo(f"{printable(one)} {done}")
    return code
