"""What a mutant is, and how it is put into a copy of the engine."""

from dataclasses import dataclass
from pathlib import Path


class StaleMutant(Exception):
    """The code a mutant was made for is not there any more, or not only once."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement in a file of the engine; `old` stands there exactly once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: what it changes, what it breaks, and the tests that must notice."""

    name: str
    breaks: str
    tests: tuple[str, ...]
    edits: tuple[Edit, ...]


def mutant(name: str, breaks: str, tests: str, *edits: tuple[str, str, str]) -> Mutant:
    """A mutant by the words of one line each; `tests` are paths below tests/, separated by spaces."""
    return Mutant(name, breaks, tuple(f"tests/{test}" for test in tests.split()), tuple(Edit(*edit) for edit in edits))


def apply(mutated: Mutant, engine: Path) -> dict[Path, str]:
    """Puts the fault into the engine at `engine`; the files' earlier texts, to take it out again.

    Raises StaleMutant, with nothing changed, when the code is another one.
    """
    before: dict[Path, str] = {}
    after: dict[Path, str] = {}
    for edit in mutated.edits:
        path = engine / edit.file
        text = after.get(path) or path.read_text("utf-8")
        if text.count(edit.old) != 1:
            raise StaleMutant(f"{mutated.name}: found {text.count(edit.old)} times in {edit.file}: {edit.old!r}")
        before.setdefault(path, text)
        after[path] = text.replace(edit.old, edit.new)
    for path, text in after.items():
        path.write_text(text, "utf-8")
    return before


def restore(before: dict[Path, str]) -> None:
    """Takes a fault out again."""
    for path, text in before.items():
        path.write_text(text, "utf-8")
