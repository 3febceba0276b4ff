"""`leaseforge worker`: processes that run jobs with the tasks of their user's modules."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from leaseforge.registry import Registry
from leaseforge.settings import declared, read
from leaseforge.tasks import TaskError
from leaseforge_cli.exits import NOT_WORTH_A_RESTART, CommandFailed, ExitCode
from leaseforge_cli.options import Parsed
from leaseforge_worker.channel import ParentChannel
from leaseforge_worker.demo import TASKS as DEMO_TASKS
from leaseforge_worker.health import AddressInUse
from leaseforge_worker.loader import LoadError, load_tasks
from leaseforge_worker.processes import ProcessesFailed, run_processes
from leaseforge_worker.run import run_worker
from leaseforge_worker.settings import WorkerSettings

SETTINGS = declared(WorkerSettings)
ARGUMENTS = "leaseforge_cli.worker.arguments"
# Exit codes of a worker that has said why it cannot start.
SAID_WHY = NOT_WORTH_A_RESTART | {ExitCode.STORE_UNAVAILABLE}


class WorkerCommand(click.Command):
    """A command that remembers its own arguments, to start others like it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses them, as always."""
        ctx.meta[ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)


def setting_option(flag: str, field: str, metavar: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that wins over the variable of a worker's setting."""
    setting = SETTINGS[field]
    return click.option(
        flag, field, type=Parsed(setting.parse), metavar=metavar, help=f"{setting.help} ({setting.env})"
    )


@click.command(cls=WorkerCommand)
@click.argument("modules", nargs=-1, metavar="[MODULE[:TASK]]...")
@click.option("--demo", is_flag=True, help="add the demo tasks: echo, sleep, fail, generate_pdf")
@setting_option("--queues", "queues", "a,b | a=3,b=1 | *")
@setting_option("--concurrency", "concurrency", "N")
@setting_option("--processes", "processes", "N")
@setting_option("--batch-size", "batch_size", "N")
@setting_option("--lease", "lease_s", "SECONDS")
@setting_option("--drain", "drain_s", "SECONDS")
@setting_option("--metrics-addr", "metrics_address", "HOST:PORT")
@setting_option("--log-level", "log_level", "LEVEL")
@click.option("--parent-fd", type=int, hidden=True, help="set by a parent that starts several processes")
@click.pass_context
def worker(ctx: click.Context, /, modules: tuple[str, ...], demo: bool, parent_fd: int | None, **options: Any) -> int:
    """Run jobs with the tasks of the given modules.

    Modules are looked for in the current folder first. A first SIGTERM or Ctrl-C stops claiming and finishes what
    runs; a second one ends the process at once. With --processes a parent does so for all of its processes, starts
    those that die again, and serves one address for probes and metrics.
    """
    parent = None if parent_fd is None else _parent(parent_fd)
    if not modules and not demo:
        raise click.UsageError("name at least one module with tasks, or use --demo")
    # None may be what an option says (`--metrics-addr off`), not only that it was not given.
    given = {
        field: value
        for field, value in options.items()
        if ctx.get_parameter_source(field) is not ParameterSource.DEFAULT
    }
    overruled = {SETTINGS[field].env for field in given}
    settings = read(WorkerSettings, {name: text for name, text in os.environ.items() if name not in overruled})
    settings = replace(settings, **given)
    if parent is not None:
        return run_worker(replace(settings, metrics_address=None), _tasks(modules, demo), parent=parent)
    try:
        if settings.processes > 1:
            return run_processes(settings, lambda fd: _child(fd, ctx.meta[ARGUMENTS]), hopeless=SAID_WHY)
        return run_worker(settings, _tasks(modules, demo))
    except AddressInUse as error:
        raise CommandFailed(str(error), ExitCode.ADDRESS_IN_USE) from error
    except ProcessesFailed as error:
        raise CommandFailed(str(error), error.status) from error


def _child(parent_fd: int, arguments: tuple[str, ...]) -> list[str]:
    """The command line of one process like us. -P: a file of the current folder must not hide a library's."""
    return [sys.executable, "-P", "-m", "leaseforge_cli", "worker", "--parent-fd", str(parent_fd), *arguments]


def _parent(descriptor: int) -> ParentChannel:
    try:
        return ParentChannel(descriptor)
    except OSError as error:
        raise click.UsageError("--parent-fd is for processes that --processes starts") from error


def _tasks(modules: tuple[str, ...], demo: bool) -> Registry:
    try:
        tasks = load_tasks(modules)
        for task in DEMO_TASKS if demo else ():
            tasks.add(task)
    except (LoadError, TaskError) as error:
        raise CommandFailed(str(error), ExitCode.TASKS) from error
    return tasks
