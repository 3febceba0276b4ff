"""What `leaseforge loadgen` enqueues: demo jobs, each kind as often as its weight says."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_DELAY_S = 30.0
KINDS = ("echo", "sleep", "fail", "delay")


@dataclass(frozen=True, slots=True)
class Mix:
    """Weights of the kinds of jobs, their queue, and how long a `sleep` may take at most (ms)."""

    weights: Mapping[str, int]
    queue: str
    sleep_max_ms: int

    def pick(self, number: int, source: random.Random) -> tuple[str, dict[str, Any]]:
        """The kind of the next job, and the request for it."""
        [kind] = source.choices(KINDS, [self.weights[kind] for kind in KINDS])
        job: dict[str, Any] = {"queue": self.queue, "tags": ["loadgen"]}
        match kind:
            case "sleep":
                return kind, job | {"type": "sleep", "payload": {"duration_ms": source.randint(0, self.sleep_max_ms)}}
            case "fail":
                return kind, job | {"type": "fail", "payload": {"message": "load that fails on purpose"}}
            case "delay":
                delay_s = round(source.uniform(1.0, MAX_DELAY_S), 3)
                return kind, job | {"type": "echo", "payload": {"number": number}, "delay_seconds": delay_s}
            case _:
                return kind, job | {"type": "echo", "payload": {"number": number}}
