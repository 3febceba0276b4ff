"""A server's page for Prometheus: the installation's figures, which all servers share, and this process's own."""

from collections.abc import Iterator

from prometheus_client.core import Metric

from leaseforge.meters import CONTENT_TYPE, page, process_families
from leaseforge.pulse import Pulse
from leaseforge.store import Store
from leaseforge_api.metrics_http import HttpMeters
from leaseforge_api.metrics_installation import read_installation

__all__ = ["CONTENT_TYPE", "ServerMeters", "exposition"]


class ServerMeters:
    """Everything this server process counts of its own work."""

    def __init__(self) -> None:
        self.http = HttpMeters()
        self.pulse = Pulse()

    def families(self) -> Iterator[Metric]:
        """As Prometheus reads it."""
        yield from process_families(self.pulse)
        yield from self.http.families()


async def exposition(store: Store, meters: ServerMeters) -> bytes:
    """The whole page. What cannot be read is left out, never shown as 0. Raises StoreUnavailable."""
    installation = await read_installation(store)
    return page([*installation, *meters.families()])
