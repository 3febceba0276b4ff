"""A server whose disk runs full and has room again, as the test wants.

The kernel refuses the server any byte beyond a file size (RLIMIT_FSIZE): the same short writes and errors as on a
full disk, and neither root nor a disk of its own is needed.
"""

import resource
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.faults.servers import FaultyServer
from tests.support.components import unavailable
from tests.support.waiting import eventually_sync


class ServerOnSmallDisk(FaultyServer):
    """A durable server that can be refused every further write to its append-only file."""

    def __init__(self, folder: Path, **options: Any) -> None:
        super().__init__(folder / "data", **options)
        if not hasattr(resource, "prlimit"):
            unavailable("this system cannot limit the files of a running process")
        binary = self.embedded.binary
        assert binary is not None
        # Ignored here and so in the server too, or the first refused write would kill it.
        ignoring = folder / "server"
        ignoring.write_text(f"#!/bin/sh\ntrap '' XFSZ\nexec {shlex.quote(str(binary.path))} \"$@\"\n", encoding="utf-8")
        ignoring.chmod(0o755)
        self.embedded.binary = replace(binary, path=ignoring)

    def fill_disk(self) -> None:
        """From now on nothing can be written; the server notices at its next write."""
        self._limit(1)

    def free_disk(self) -> None:
        """There is room again; back once the server has noticed."""
        self._limit(resource.RLIM_INFINITY)
        with self.client() as client:
            eventually_sync(lambda: client.info("persistence")["aof_last_write_status"] == "ok")

    def _limit(self, size: int) -> None:
        _, most = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (size, most))
