"""Every list of the API over a million jobs, page after page: how long an answer takes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.scale.populating import Population
from tests.scale.stage import Caller, Stage
from tests.scale.watching import share

PAGES = 1000
REPEATS = 40
LIMIT = 100


@dataclass(frozen=True, slots=True)
class Seen:
    """One list. Times are ms: the first page and the last one that was reached, asked again and again, and all between.

    `told` is what the answer says of its size: the exact total, or how many of how many were searched for a page.
    """

    path: str
    pages: int
    items: int
    told: str
    first: tuple[float, float, float]
    last: tuple[float, float, float]
    walk: tuple[float, float, float]
    load: float

    def row(self) -> str:
        """As the table shows it."""
        times = "   ".join(" ".join(f"{ms:7.1f}" for ms in part) for part in (self.first, self.last, self.walk))
        return f"{self.path[:66]:66} {self.pages:5} {self.items:6}   {times}   {self.load:4.1f}  {self.told}"


HEADING = (
    f"{'p50, p95, max in ms':66} {'pages':>5} {'items':>6}   {'first page':^23}   {'last page':^23}   "
    f"{'all pages':^23}   load"
)


def paths(stage: Stage, population: Population, caller: Caller) -> Iterator[str]:
    """Each list, and each filter by itself and some together."""
    queue = population.names()[len(population.names()) // 2]
    now = datetime.fromtimestamp(int(stage.raw.time()[0]), UTC)
    hours = [(now - timedelta(hours=passed)).isoformat().replace("+00:00", "Z") for passed in (0, 10, 19)]
    some = caller.ask("GET", f"/api/dlq/groups?queue={queue}&limit=1")["items"]
    asked: list[tuple[str, Mapping[str, Any]]] = [
        ("jobs", {}),
        *(("jobs", {"state": state}) for state in population.shares),
        ("jobs", {"state": "running"}),
        ("jobs", {"queue": queue}),
        ("jobs", {"queue": queue, "state": "completed"}),
        ("jobs", {"type": "type-7"}),
        ("jobs", {"type": "rare"}),
        ("jobs", {"type": "none"}),
        ("jobs", {"tag": "tenant-7"}),
        ("jobs", {"tag": "none"}),
        ("jobs", {"created_by": "service-1"}),
        ("jobs", {"priority_from": 3}),
        ("jobs", {"priority_to": 0, "state": "ready"}),
        ("jobs", {"priority_from": 4, "state": "completed"}),
        ("jobs", {"created_since": hours[1], "created_until": hours[0]}),
        ("jobs", {"finished_since": hours[2], "finished_until": hours[1]}),
        ("jobs", {"error": "not found"}),
        ("jobs", {"error": "moon"}),
        ("jobs", {"error": "nowhere"}),
        ("jobs", {"type": "rare", "queue": queue, "state": "dead", "error": "moon"}),
        *(("jobs", {"group": group["key"]}) for group in some),
        *((f"queues/{queue}/jobs", {"state": state}) for state in population.shares),
        ("dlq", {}),
        ("dlq", {"queue": queue}),
        *(("dlq", {"queue": queue, "group": group["key"]}) for group in some),
        ("dlq", {"type": "rare"}),
        ("dlq", {"tag": "tenant-7"}),
        ("dlq", {"error": "moon"}),
        ("dlq", {"finished_since": hours[2]}),
        ("dlq/groups", {}),
        ("dlq/groups", {"queue": queue}),
        ("delayed", {}),
        ("delayed", {"queue": queue}),
        ("delayed", {"type": "rare"}),
        ("delayed", {"tag": "tenant-7"}),
        ("delayed", {"priority_from": 4}),
        ("delayed", {"created_since": hours[1]}),
        ("queues", {}),
        ("workers", {}),
        ("bulk", {}),
        ("audit", {}),
        ("audit", {"action": "queue"}),
    ]
    for path, query in asked:
        yield f"/api/{path}" + (f"?{urlencode(query)}" if query else "")
    yield "/api/system/stats"
    yield f"/api/queues/{queue}"


def measure(
    stage: Stage, population: Population, *, pages: int = PAGES, repeats: int = REPEATS, only: Sequence[str] = ()
) -> list[Seen]:
    """Walks through every list; prints a row as soon as it is there."""
    seen = []
    with stage.start_server().login() as caller:
        print(HEADING, flush=True)
        for path in paths(stage, population, caller):
            if only and not any(word in path for word in only):
                continue
            seen.append(_walk(caller, path, pages, repeats))
            print(seen[-1].row(), flush=True)
    return seen


def _walk(caller: Caller, path: str, pages: int, repeats: int) -> Seen:
    page = f"{path}{'&' if '?' in path else '?'}limit={LIMIT}" if _is_list(path) else path
    took, items, number, address = [], 0, 0, page
    while number < pages:
        body = caller.ask("GET", address)
        took.append(caller.took_ms)
        items += len(body.get("items", ()))
        number += 1
        following = body.get("next")
        if following is None:
            break
        if number < pages:
            address = f"{page}&cursor={following}"
    load = os.getloadavg()[0]
    told = f"total {body['total']:,}" if body.get("total") is not None else ""
    if body.get("searched") is not None:
        told = f"searched {body['searched']:,} of {body.get('of') or body.get('total'):,}"
    first, last = _again(caller, page, repeats), _again(caller, address, repeats)
    return Seen(path, number, items, told, first, last, _shares(took), load)


def _is_list(path: str) -> bool:
    return "system" not in path and (path.count("/") == 2 or path.endswith("/groups") or "?" in path)


def _again(caller: Caller, path: str, repeats: int) -> tuple[float, float, float]:
    took = []
    for _ in range(repeats):
        caller.ask("GET", path)
        took.append(caller.took_ms)
    return _shares(took)


def _shares(took: Sequence[float]) -> tuple[float, float, float]:
    return share(took, 0.5), share(took, 0.95), max(took)
