"""What every command that uses the API begins with."""

import os

from leaseforge.settings import read
from leaseforge_cli.client import ApiClient
from leaseforge_cli.client_settings import ClientSettings
from leaseforge_cli.logins import Door, door_of


def door() -> Door:
    """The server and token of this environment. Raises SettingsError and CommandFailed."""
    return door_of(read(ClientSettings, os.environ))


def api() -> ApiClient:
    """A client for them."""
    return ApiClient.at(door())
