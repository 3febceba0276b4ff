"""A TCP proxy between a store and its server that loses what a network may lose."""

import contextlib
import socket
import threading
from typing import Self

from tests.support.waiting import free_port


class Proxy:
    """Forwards loopback connections to `port`, and misbehaves when told to.

    `lose_first_replies`: the first time a script call is seen its reply is swallowed, once the server has sent it,
    and the connection is closed; the same call again passes. `mute`: nothing is forwarded in either direction on
    connections that are open or opened meanwhile, and nobody is told. `refuse`: connections are closed at once.
    """

    def __init__(self, port: int) -> None:
        self.lose_first_replies = False
        self.mute = False
        self.refuse = False
        self.lost = 0
        self.connections = 0
        self._target = port
        self._seen: set[bytes] = set()
        self._open: list[socket.socket] = []
        self._closing = False
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def url(self, database_url: str) -> str:
        """The same database, through this proxy."""
        return f"redis://127.0.0.1:{self.port}/{database_url.rpartition('/')[2]}"

    def cut(self) -> None:
        """Closes every connection that is open now."""
        connections, self._open = self._open, []
        for connection in connections:
            _close(connection)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        _close(self._listener)
        self.cut()
        self._thread.join(5)

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.refuse:
                _close(client)
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open += [client, server]
            doomed = threading.Event()
            for pump in (self._requests, self._replies):
                threading.Thread(target=pump, args=(client, server, doomed), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while request := client.recv(1 << 20):
                if self.mute:
                    continue
                if self.lose_first_replies and b"EVALSHA" in request and request not in self._seen:
                    self._seen.add(request)
                    doomed.set()
                server.sendall(request)
        _close(client)
        _close(server)

    def _replies(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while reply := server.recv(1 << 20):
                if doomed.is_set():
                    self.lost += 1
                    break
                if not self.mute:
                    client.sendall(reply)
        _close(client)
        _close(server)


def _close(connection: socket.socket) -> None:
    # A thread that waits in recv or accept is only woken by a shutdown.
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
