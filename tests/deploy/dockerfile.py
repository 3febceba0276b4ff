"""Reads a Dockerfile as far as our rules for images need it."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "deploy" / "docker"


@dataclass
class Stage:
    """One stage: what it starts from, its name, its instructions in order."""

    base: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, word: str) -> list[str]:
        return [text for known, text in self.instructions if known == word]

    def last(self, word: str) -> str:
        """What the last instruction of this kind says; empty without one."""
        return (self.all(word) or [""])[-1]


@dataclass(frozen=True)
class Dockerfile:
    """Arguments before the first stage, and the stages by name."""

    arguments: dict[str, str]
    stages: dict[str, Stage]

    def lineage(self, name: str) -> Sequence[Stage]:
        """The stage and those of this file it is built on, the oldest first."""
        found = [self.stages[name]]
        while found[0].base in self.stages:
            found.insert(0, self.stages[found[0].base])
        return found

    def in_force(self, name: str, word: str) -> str:
        """What an instruction comes to in an image: said by the stage itself or by one it is built on."""
        return next((said for stage in reversed(self.lineage(name)) if (said := stage.last(word))), "")

    def environment(self, name: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for stage in self.lineage(name):
            for text in stage.all("ENV"):
                found |= dict(re.findall(r"(\w+)=(\S+)", text))
        return found

    def command(self, name: str) -> list[str]:
        """What a container of this image runs."""
        entry, command = self.in_force(name, "ENTRYPOINT"), self.in_force(name, "CMD")
        return [*json.loads(entry), *json.loads(command)]


def parse(text: str) -> Dockerfile:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    arguments: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    current: Stage | None = None
    for line in filter(None, map(str.strip, joined.splitlines())):
        word, _, rest = line.partition(" ")
        rest = " ".join(rest.split())
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            current = stages[name or str(len(stages))] = Stage(base, name)
        elif current is None:
            assert word == "ARG", f"{word} before the first FROM"
            name, _, value = rest.partition("=")
            arguments[name] = value
        else:
            current.instructions.append((word, rest))
    return Dockerfile(arguments, stages)


def health_command(text: str) -> list[str]:
    """The command of a HEALTHCHECK instruction; empty if it is none in exec form."""
    found = re.search(r"CMD (\[.*\])$", text)
    return list(json.loads(found[1])) if found else []
