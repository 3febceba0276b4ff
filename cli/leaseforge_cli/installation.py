"""What commands that run on the machines of an installation share: its settings, and its Redis."""

import os

from leaseforge.store import Store, connect
from leaseforge_api.settings import ServerSettings

STORE_PATIENCE_S = 5.0


def server_settings() -> ServerSettings:
    """The settings of this environment. Raises SettingsError."""
    return ServerSettings.read(os.environ)


def connected(settings: ServerSettings) -> Store:
    """A store on the installation's Redis, for an `async with`."""
    return connect(settings.engine.redis_url, retry_s=STORE_PATIENCE_S)
