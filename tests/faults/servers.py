"""Servers that tests kill, freeze and bring back."""

import os
import signal
from pathlib import Path
from typing import Any, Self

import redis

from leaseforge.embedded import EmbeddedServer
from tests.support.servers import chosen_binary
from tests.support.waiting import eventually_sync, free_port


class FaultyServer:
    """A durable server of one test's own, the kind LEASEFORGE_TEST_SERVER names. `fsync` is everysec, always or no."""

    def __init__(self, folder: Path, *, fsync: str = "everysec", **config: str) -> None:
        self.embedded = EmbeddedServer(
            folder,
            port=free_port(),
            durable=True,
            binary=chosen_binary(),
            config={"appendfsync": fsync, "enable-debug-command": "yes", **config},
        )
        self._pid = 0

    @property
    def url(self) -> str:
        return self.embedded.url

    @property
    def pid(self) -> int:
        """The process that was started last."""
        return self._pid

    def client(self) -> Any:
        """A plain client, for a `with`."""
        return redis.Redis.from_url(self.url)

    def start(self) -> Self:
        """Brings it up, on the data it had before."""
        pid = self.embedded.start().pid
        assert pid is not None
        self._pid = pid
        return self

    def kill(self) -> None:
        """kill -9, also of one that is frozen."""
        os.kill(self._pid, signal.SIGKILL)
        eventually_sync(self.embedded.has_died)

    def freeze(self) -> None:
        """SIGSTOP: connections stay open, nothing is answered."""
        os.kill(self._pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        os.kill(self._pid, signal.SIGCONT)

    def stop(self) -> None:
        """A clean end, whatever state it is in."""
        if self._pid and not self.embedded.has_died():
            self.thaw()
        self.embedded.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
