"""A Redis-compatible server of our own, run beside a program: what `leaseforge dev` and the tests stand on.

The server runs as a subprocess in a session of its own, so that a Ctrl-C in the terminal reaches the program and
not the server the program is still talking to.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Self
from urllib.parse import quote

from leaseforge.server_binary import MADE_BY, EmbeddedServerError, ServerBinary, choose_binary

# The kernel's limit is 104 to 108 bytes depending on the system.
MAX_SOCKET_PATH_BYTES = 100
LOG_BYTES_KEPT = 1024 * 1024


_ALLOCATOR = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=1000"}
"""The bundled server has the C library's allocator, which is slow at what scripts do: many small pieces taken, and all
given back at once. With more of them kept at hand scripts take a third to a half less time."""


class EmbeddedServer:
    """One server process and the folder it writes to; starts it, finds one that is already up, and stops it cleanly.

    `durable` servers keep an append-only file (a killed process loses nothing it acknowledged); others keep nothing.
    With `port` it listens on the loopback interface, otherwise on a unix socket only its owner can open.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int | None = None,
        durable: bool = True,
        binary: ServerBinary | None = None,
        config: Mapping[str, str] | None = None,
    ) -> None:
        self.data_dir = data_dir.resolve()
        self.port = port
        self.durable = durable
        self.binary = binary
        self.config = dict(config or {})
        self.is_reused = False
        # `start` and `stop` may be called from two threads: a program that restarts it can be told to stop meanwhile.
        self._changing = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ownership: IO[str] | None = None
        self._socket_path = _socket_path(self.data_dir) if port is None else None

    @property
    def url(self) -> str:
        """Where clients connect; database 0."""
        if self._socket_path is not None:
            return f"unix://{quote(str(self._socket_path))}?db=0"
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def log_file(self) -> Path:
        """Everything the server prints."""
        return self.data_dir / "redis.log"

    @property
    def pid(self) -> int | None:
        """The process id of the server that answers now, None when none does."""
        found = re.search(rb"process_id:(\d+)", self._ask(b"INFO server") or b"")
        return int(found[1]) if found else None

    def start(self, *, within_s: float = 120.0) -> Self:
        """Bring the server up and wait until it answers; one that already runs on this folder's socket is used.

        Called again after the process died it starts a new one on the same data. A long append-only file takes
        time to load, hence the generous default. Raises EmbeddedServerError.
        """
        with self._changing:
            self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._take_ownership()
            try:
                self.is_reused = self._accepts_connections()
                if not self.is_reused:
                    self._launch()
                elif self.port is not None:
                    raise EmbeddedServerError(f"port {self.port} is in use")
                self._wait_until_up(within_s)
            except BaseException:
                self.stop()
                raise
        return self

    def is_up(self) -> bool:
        """Whether the server answers commands now (not while it still loads its data)."""
        return self._ask(b"PING") == b"+PONG\r\n"

    def has_died(self) -> bool:
        """Whether the process we started ended by itself, or the one we found stopped accepting connections."""
        if self._process is not None:
            return self._process.poll() is not None
        return not self._accepts_connections()

    def stop(self, *, within_s: float = 30.0) -> None:
        """Stop the server cleanly (it flushes its file on SIGTERM); one that another program runs is left alone."""
        with self._changing:
            if self._ownership is None:
                return
            try:
                if self._process is not None:
                    pid: int | None = self._process.pid
                else:
                    # Whoever answers on our private socket is ours to stop; on a port it may be anybody's server.
                    pid = self.pid if self._socket_path is not None else None
                if pid is not None and not self.has_died():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
                    self._wait_until_gone(pid, within_s)
            finally:
                self._process = None
                self._ownership.close()
                self._ownership = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _launch(self) -> None:
        if self._ownership is None:
            raise EmbeddedServerError(f"another program starts or stops the server of {self.data_dir} now: try again")
        binary = self.binary or choose_binary(self.data_dir)
        if self.durable:
            (self.data_dir / MADE_BY).write_text(f"{binary}\n", encoding="utf-8")
        if self._socket_path is not None:
            self._socket_path.unlink(missing_ok=True)
        if self.log_file.exists() and self.log_file.stat().st_size > LOG_BYTES_KEPT:
            self.log_file.replace(self.log_file.with_suffix(".log.1"))
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a program we located, with our own arguments
                [str(binary.path), *self._arguments()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.data_dir,
                start_new_session=True,
                env={**_ALLOCATOR, **os.environ},
            )

    def _wait_until_up(self, within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while not self.is_up():
            if self.has_died():
                raise EmbeddedServerError(f"the server ended at once: {self._last_words()} (see {self.log_file})")
            if time.monotonic() > deadline:
                raise EmbeddedServerError(f"the server did not answer within {within_s:.0f} s: see {self.log_file}")
            time.sleep(0.02)

    def _arguments(self) -> list[str]:
        """The server's command line: no eviction, no snapshots, and a file of every write when it is durable."""
        options = {
            "dir": str(self.data_dir),
            "appendonly": "yes" if self.durable else "no",
            "save": "",
            "maxmemory-policy": "noeviction",
            "port": str(self.port or 0),
        }
        if self._socket_path is not None:
            options |= {"unixsocket": str(self._socket_path), "unixsocketperm": "700"}
        else:
            options["bind"] = "127.0.0.1"
        return [part for name, value in (options | self.config).items() for part in (f"--{name}", value)]

    def _take_ownership(self) -> None:
        """Become the one that may stop the server of this folder, unless another living program already is.

        The lock goes away with its process: after a kill -9 of the program the next one takes over the server it left.
        """
        if self._ownership is not None:
            return
        lock = (self.data_dir / "owner.lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
        else:
            self._ownership = lock

    def _connect(self) -> socket.socket:
        if self._socket_path is not None:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(1.0)
            try:
                connection.connect(str(self._socket_path))
            except OSError:
                connection.close()
                raise
            return connection
        return socket.create_connection(("127.0.0.1", self.port or 0), timeout=1.0)

    def _accepts_connections(self) -> bool:
        try:
            self._connect().close()
        except OSError:
            return False
        return True

    def _ask(self, command: bytes) -> bytes | None:
        """The raw answer to one inline command, None when nobody answers. A liveness probe, not a client."""
        try:
            with self._connect() as connection:
                connection.sendall(command + b"\r\n")
                return connection.recv(65536)
        except OSError:
            return None

    def _wait_until_gone(self, pid: int, within_s: float) -> None:
        deadline = time.monotonic() + within_s
        # A server we only found is not our child: it is gone when it no longer accepts connections.
        while not self.has_died():
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"the server (pid {pid}) did not stop within {within_s:.0f} s: see {self.log_file}"
                )
            time.sleep(0.02)

    def _last_words(self) -> str:
        lines = self.log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "it printed nothing"


def _socket_path(data_dir: Path) -> Path:
    """A unix socket path for this folder: inside it, or in a private short folder when the path would be too long."""
    inside = data_dir / "redis.sock"
    if len(os.fsencode(inside)) <= MAX_SOCKET_PATH_BYTES:
        return inside
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    short = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"leaseforge-{os.getuid()}-{digest}"
    short.mkdir(mode=0o700, exist_ok=True)
    status = short.lstat()
    if short.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise EmbeddedServerError(
            f"{short} is not a private folder of yours: remove it, or use a shorter path than {data_dir}"
        )
    return short / "redis.sock"
