"""What handlers wrote outside Redis: the evidence that no fault of Redis can touch."""

import json
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Line:
    """One note of a handler: start, end, effect, refused or cancelled. The fence is that of its claim."""

    job: str
    queue: str
    fence: int
    attempt: int
    pid: int
    what: str


class Ledger:
    """The file that handlers of all worker processes append to, in the order things happened."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "ledger.jsonl"
        self.gate = folder / "gate"
        """Handlers of `wait_for_gate` return once this file exists."""
        self.file.touch()
        self.file.with_suffix(".fences").mkdir()

    @property
    def env(self) -> dict[str, str]:
        """What a worker process must know to write here."""
        return {"LEDGER": str(self.file), "GATE": str(self.gate)}

    def lines(self) -> list[Line]:
        """Everything noted so far."""
        return [Line(**json.loads(line)) for line in self.file.read_text().splitlines()]

    def noted(self, what: str, job_id: str | None = None) -> list[Line]:
        """The notes of one kind, of one job if named."""
        return [line for line in self.lines() if line.what == what and job_id in (None, line.job)]

    def write(self, *lines: Line) -> None:
        """Appends notes, as a handler would."""
        with self.file.open("a") as file:
            for line in lines:
                file.write(json.dumps({name: getattr(line, name) for name in Line.__slots__}) + os.linesep)
