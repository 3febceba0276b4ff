"""Lua scripts as files: one transition a file, its header the contract, composed here.

A file `verb.lua` defines `local function verb(K, A)`: K holds the keys by name, A the arguments in
order. The loader puts the prelude and the files named by `uses` in front and one line that calls
the function behind, so that several transitions can travel as one script.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_KEY = re.compile(r"^-- KEYS\[(\d+)\] +(\w+) +(\w+) +(\S.*)$", re.MULTILINE)
_ARG = re.compile(r"^-- ARGV\[(\d+)(\.\.\.)?\] +(\S.*)$", re.MULTILINE)
_USES = re.compile(r"^-- uses (.+)$", re.MULTILINE)
_FLAGS = re.compile(r"^-- flags (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Header:
    """What a script says of itself. `args` are names; `repeated` are those of the group that may recur at the end."""

    keys: tuple[str, ...]
    args: tuple[str, ...]
    repeated: tuple[str, ...]
    uses: tuple[str, ...]
    flags: str


@dataclass(frozen=True, slots=True)
class Script:
    """A composed script, ready to be sent: its text, its SHA1, and its contract."""

    name: str
    text: str
    sha: str
    header: Header


def parse_header(text: str) -> Header:
    """Reads the contract out of a script's leading comment. Raises ValueError on a gap in the numbering."""
    keys = [(int(number), name) for number, name, _, _ in _KEY.findall(text)]
    args = [(int(number), bool(rest), words) for number, rest, words in _ARG.findall(text)]
    if [n for n, _ in keys] != list(range(1, len(keys) + 1)):
        raise ValueError(f"KEYS are not numbered from 1 without a gap: {keys}")
    if [n for n, _, _ in args] != list(range(1, len(args) + 1)):
        raise ValueError(f"ARGV are not numbered from 1 without a gap: {args}")
    if any(rest for _, rest, _ in args[:-1]):
        raise ValueError("only the last ARGV may repeat")
    uses = _USES.search(text)
    flags = _FLAGS.search(text)
    return Header(
        keys=tuple(name for _, name in keys),
        args=tuple(words.split()[0] for _, rest, words in args if not rest),
        repeated=tuple(part.split()[0] for _, rest, words in args if rest for part in words.split("|")),
        uses=tuple(part.strip() for part in uses[1].split(",")) if uses else (),
        flags=flags[1].strip() if flags else "",
    )


class Library:
    """A folder of scripts. Its parts may come from `base` too, which always gives the prelude."""

    def __init__(self, folder: Traversable, *, base: "Library | None" = None) -> None:
        self.folder = folder
        self.base = base
        self.load = lru_cache(maxsize=None)(self._load)

    def names(self) -> list[str]:
        """The transitions in this folder, sorted; parts that only serve others (`_name.lua`) are left out."""
        names = (entry.name for entry in self.folder.iterdir())
        return sorted(name[:-4] for name in names if name.endswith(".lua") and not name.startswith("_"))

    def source(self, name: str) -> str:
        """The text of one file, from here or from the base."""
        entry = self.folder / f"{name}.lua"
        if not entry.is_file() and self.base is not None:
            return self.base.source(name)
        return entry.read_text("utf-8")

    def _load(self, name: str) -> Script:
        source = self.source(name)
        header = parse_header(source)
        shebang = f"#!lua flags={header.flags}" if header.flags else "#!lua"
        table = ", ".join(f"{key} = KEYS[{number}]" for number, key in enumerate(header.keys, 1))
        parts = [shebang, self.source("_prelude")]
        parts += [_strip_comments(part) for part in self._sources(header.uses)]
        parts += [_strip_comments(source), f"local K = {{ {table} }}"]
        if "_queue" in header.uses and header.flags != "no-writes" and "counts" in header.keys:
            parts.append(f"local reply = {name}(K, ARGV)\nflush(K)\nreturn reply")
        else:
            parts.append(f"return {name}(K, ARGV)")
        text = "\n".join(parts) + "\n"
        return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), header)

    def _sources(self, names: Iterable[str]) -> list[str]:
        return [self.source(name) for name in names]


def _strip_comments(source: str) -> str:
    """Leaves the headers out of what is sent: servers keep every script they ever saw."""
    return "\n".join(line for line in source.splitlines() if not line.startswith("--"))


ENGINE = Library(files("leaseforge") / "lua")
