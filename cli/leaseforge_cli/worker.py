"""`leaseforge worker`: one process that runs jobs with the tasks of its user's modules."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from leaseforge.settings import declared, read
from leaseforge.tasks import Registry, TaskError
from leaseforge_cli.exits import CommandFailed, ExitCode
from leaseforge_worker.demo import TASKS as DEMO_TASKS
from leaseforge_worker.health import AddressInUse
from leaseforge_worker.loader import LoadError, load_tasks
from leaseforge_worker.run import run_worker
from leaseforge_worker.settings import WorkerSettings

SETTINGS = declared(WorkerSettings)


class SettingOption(click.ParamType[Any]):
    """An option that is read like the setting of the same meaning."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The setting's value, or a usage error in the setting's own words."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def setting_option(flag: str, field: str, metavar: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that wins over the variable of a worker's setting."""
    setting = SETTINGS[field]
    return click.option(
        flag, field, type=SettingOption(setting.parse), metavar=metavar, help=f"{setting.help} ({setting.env})"
    )


@click.command()
@click.argument("modules", nargs=-1, metavar="[MODULE[:TASK]]...")
@click.option("--demo", is_flag=True, help="add the demo tasks: echo, sleep, fail, generate_pdf")
@setting_option("--queues", "queues", "a,b | a=3,b=1 | *")
@setting_option("--concurrency", "concurrency", "N")
@setting_option("--batch-size", "batch_size", "N")
@setting_option("--lease", "lease_s", "SECONDS")
@setting_option("--drain", "drain_s", "SECONDS")
@setting_option("--metrics-addr", "metrics_address", "HOST:PORT")
@setting_option("--log-level", "log_level", "LEVEL")
def worker(modules: tuple[str, ...], demo: bool, **options: Any) -> int:
    """Run jobs with the tasks of the given modules.

    Modules are looked for in the current folder first. A first SIGTERM or Ctrl-C stops claiming and finishes what
    runs; a second one ends the process at once.
    """
    if not modules and not demo:
        raise click.UsageError("name at least one module with tasks, or use --demo")
    given = {field: value for field, value in options.items() if value is not None}
    overruled = {SETTINGS[field].env for field in given}
    settings = read(WorkerSettings, {name: text for name, text in os.environ.items() if name not in overruled})
    try:
        return run_worker(replace(settings, **given), _tasks(modules, demo))
    except AddressInUse as error:
        raise CommandFailed(str(error), ExitCode.ADDRESS_IN_USE) from error


def _tasks(modules: tuple[str, ...], demo: bool) -> Registry:
    try:
        tasks = load_tasks(modules)
        for task in DEMO_TASKS if demo else ():
            tasks.add(task)
    except (LoadError, TaskError) as error:
        raise CommandFailed(str(error), ExitCode.TASKS) from error
    return tasks
