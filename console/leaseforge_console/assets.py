"""Templates and static files: where they lie, and under which address a browser may keep them for ever."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_MEDIA_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".md": "text/plain",
}


def asset_dir(name: str) -> Path:
    """The folder `templates` or `static`: inside the package in a wheel, at the repository's root in a checkout."""
    packaged = _HERE / name
    return packaged if packaged.is_dir() else _HERE.parents[1] / name


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file as it is sent: bytes read once at start-up, `digest` of those bytes."""

    name: str
    digest: str
    media_type: str
    content: bytes


class StaticFiles:
    """All static files by name. The digest in an address changes with the content, so it can be cached for ever."""

    def __init__(self, folder: Path, *, root_path: str = "") -> None:
        self._root_path = root_path
        self._files: dict[str, StaticFile] = {}
        for path in sorted(folder.rglob("*")):
            if path.suffix in _MEDIA_TYPES:
                name, content = path.relative_to(folder).as_posix(), path.read_bytes()
                digest = hashlib.sha256(content).hexdigest()[:16]
                self._files[name] = StaticFile(name, digest, _MEDIA_TYPES[path.suffix], content)

    def get(self, name: str) -> StaticFile | None:
        """The file, or None; names never reach the file system, so there is nothing to climb out of."""
        return self._files.get(name)

    def url(self, name: str) -> str:
        """The address templates use; an unknown name is a defect of the template and raises KeyError."""
        return f"{self._root_path}/static/{self._files[name].digest}/{name}"
