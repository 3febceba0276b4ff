"""The `leaseforge` command: finds the subcommand, runs it, and turns every failure into one line and an exit code."""

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn, cast

import click

from leaseforge_cli.exits import ExitCode, explain

# name -> (module:function, first line of its help). Listed here so that `--help` and each command import only what
# they need: the web framework alone costs a worker most of a second.
COMMANDS = {
    "audit": ("leaseforge_cli.audit:audit", "Check the audit trail, or write it out."),
    "dev": ("leaseforge_cli.dev:dev", "Run everything on this machine: server, worker and an embedded Redis."),
    "dlq": ("leaseforge_cli.dlq:dlq", "List, retry and remove jobs that failed for good."),
    "enqueue": ("leaseforge_cli.enqueue:enqueue", "Store a job of a TYPE."),
    "jobs": ("leaseforge_cli.jobs:jobs", "List, show, retry, requeue, cancel and delete jobs."),
    "loadgen": ("leaseforge_cli.loadgen:loadgen", "Enqueue demo jobs at a steady rate."),
    "login": ("leaseforge_cli.login:login", "Ask for address, user and password."),
    "logout": ("leaseforge_cli.login:logout", "Forget the login that is kept."),
    "probe": ("leaseforge_cli.probe:probe", "Ask the server or worker of this environment whether it lives."),
    "queues": ("leaseforge_cli.queues:queues", "List, show, pause, resume and purge queues."),
    "server": ("leaseforge_cli.server:server", "Serve the API and the console."),
    "users": ("leaseforge_cli.users:users", "List, make and change accounts."),
    "version": ("leaseforge_cli.version:version", "Print the versions of Leaseforge and what it runs on."),
    "wait-for-redis": (
        "leaseforge_cli.wait_for_redis:wait_for_redis",
        "Wait until the Redis of this environment answers and is fit for use.",
    ),
    "worker": ("leaseforge_cli.worker:worker", "Run jobs with the tasks of the given modules."),
}


class LazyGroup(click.Group):
    """A command group that imports a subcommand's module when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, without importing anything."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one subcommand."""
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name][0].partition(":")
        return cast("click.Command", getattr(importlib.import_module(module), function))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in `--help`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in sorted(COMMANDS.items())])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def leaseforge() -> None:
    """Background jobs on Redis with leases, fencing and an operator's console.

    Settings come from LEASEFORGE_... variables (docs/configuration.md); options win over them.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line and end the process; the entry point of the `leaseforge` script."""
    try:
        result = leaseforge.main(args=arguments, prog_name="leaseforge", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except click.ClickException as error:
        asked = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "leaseforge"
        click.echo(f"leaseforge: {error.format_message()} ({asked} --help shows how)", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has left (`leaseforge version | head -0`); there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.FAILED)
    except Exception as error:  # the boundary of the process: everything ends as one line
        if os.environ.get("LEASEFORGE_TRACEBACK"):
            traceback.print_exc()
        message, code = explain(error)
        click.echo(f"leaseforge: {message}", err=True)
        sys.exit(code)
    sys.exit(result if isinstance(result, int) else ExitCode.OK)
