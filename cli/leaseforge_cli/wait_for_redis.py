"""`leaseforge wait-for-redis`: what a container does first, so that its process does not start only to fail."""

import os
import signal
import sys
import time

import click

from leaseforge.errors import StoreUnavailable
from leaseforge.settings import EngineSettings, read, seconds
from leaseforge.store import connect_sync
from leaseforge_cli.exits import CommandFailed, ExitCode
from leaseforge_cli.options import Parsed

PAUSE_S = 1.0


@click.command("wait-for-redis")
@click.option(
    "--timeout", type=Parsed(seconds(0, 86_400)), default="5m", show_default=True, help="give up after that long"
)
def wait_for_redis(timeout: float) -> None:
    """Wait until the Redis of this environment answers and is fit for use.

    Ends with 0 then, with 4 after the timeout, and at once with 5 if Redis is set up in a way that loses jobs or the
    data has another layout: waiting does not mend that.
    """
    # The first process of a container is not ended by a signal it has no handler for.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    url = read(EngineSettings, os.environ).redis_url
    until = time.monotonic() + timeout
    said = ""
    with connect_sync(url, retry_s=0.0) as store:
        while True:
            try:
                store.check()
            except StoreUnavailable as error:
                if time.monotonic() >= until:
                    raise CommandFailed(
                        f"Redis was not there within {timeout:g} s: {error}", ExitCode.STORE_UNAVAILABLE
                    ) from error
                if str(error) != said:
                    said = str(error)
                    click.echo(f"waiting for Redis: {said}", err=True)
            else:
                click.echo(f"Redis can be used: {store.address}")
                return
            time.sleep(PAUSE_S)
