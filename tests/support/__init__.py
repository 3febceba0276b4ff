"""What tests share: waiting for a condition, child processes, free ports, missing components."""

from tests.support.components import unavailable
from tests.support.processes import Process
from tests.support.servers import OwnServer, start_server
from tests.support.waiting import eventually, eventually_sync, free_port

__all__ = ["OwnServer", "Process", "eventually", "eventually_sync", "free_port", "start_server", "unavailable"]
