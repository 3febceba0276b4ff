"""`leaseforge server`: the API and the console in one process."""

import os

import click

from leaseforge_api.serve import serve
from leaseforge_api.settings import ServerSettings
from leaseforge_cli.listening import check_free


@click.command()
def server() -> None:
    """Serve the API and the console until a SIGTERM or Ctrl-C.

    Reads its settings from the environment; LEASEFORGE_AUTH_SECRET is required.
    """
    settings = ServerSettings.read(os.environ)
    check_free(settings.http.api_addr)
    serve(settings)
