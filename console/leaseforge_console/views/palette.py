"""What a few typed letters may mean: pages, queues, workers, and what can be done to them, the best match first."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from leaseforge.jobs import Job
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_console.views.frame import rail
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.workers import path_of

MOST: Final = 20
"""More than this nobody reads: typing on is faster."""
MAX_QUERY: Final = 200
_EXACT, _BEGINS, _WORD, _INSIDE, _SPREAD = 1000, 800, 600, 400, 200


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing to go to. `kind` says what it is, in a word."""

    label: str
    kind: str
    path: str
    icon: str


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a query, at most MOST hits. `looks_like_id`: it could only have been a job's whole id."""

    query: str
    hits: tuple[Hit, ...]
    looks_like_id: bool = False


def find(query: str, identity: Identity, snapshot: Snapshot | None, jobs: Iterable[Job] = ()) -> tuple[Hit, ...]:
    """The best matches among what this user may see; `jobs` were found by their id. No query: the pages."""
    words = query.lower().split()
    if not words:
        return tuple(_pages(identity, snapshot))[:MOST]
    things = [*_pages(identity, snapshot), *_ways(identity), *(_things(identity, snapshot, words) if snapshot else ())]
    ranked = sorted(
        ((score, -len(hit.label), -place, hit) for place, hit in enumerate(things) if (score := _score(hit, words))),
        reverse=True,
        key=lambda found: found[:3],
    )
    found = [_job(job) for job in jobs] + [hit for *_, hit in ranked]
    return tuple(found[:MOST])


def _pages(identity: Identity, snapshot: Snapshot | None) -> Iterator[Hit]:
    for item in rail(snapshot, "", identity):
        yield Hit(item.label, "page", item.path, item.icon)


def _ways(identity: Identity) -> Iterator[Hit]:
    ways = (
        ("New job", "/jobs/new", "jobs", Permission.JOBS_ENQUEUE),
        ("Dead jobs, one by one", "/dead/jobs", "dead", Permission.DLQ_READ),
        ("Purge dead letters…", "/dead/purge", "dead", Permission.DLQ_WRITE),
        ("New user", "/new-user", "users", Permission.USERS_WRITE),
        ("API tokens of everybody", "/tokens", "key", Permission.TOKENS_READ),
    )
    for label, path, icon, needs in ways:
        if identity.can(needs):
            yield Hit(label, "action", path, icon)
    yield Hit("New API token", "action", "/account/tokens/new", "key")
    yield Hit("Change password", "action", "/account#password-title", "user")
    yield Hit("Switch keys on or off", "action", "/account#shortcuts", "user")
    yield Hit("Log out everywhere…", "action", "/account/logout", "user")


def _things(identity: Identity, snapshot: Snapshot, words: list[str]) -> Iterator[Hit]:
    if identity.can(Permission.QUEUES_READ):
        for queue in snapshot.queues:
            name = queue.name
            yield Hit(name, "queue", f"/queues/{name}", "queues")
            # What can be done to a queue is of interest only where its name was begun.
            if not any(_part(name.lower(), word) for word in words):
                continue
            if identity.can(Permission.QUEUES_WRITE):
                does = "Resume" if queue.paused else "Pause"
                yield Hit(f"{does} {name}…", "action", f"/queues/{name}/{does.lower()}", "paused")
                yield Hit(f"Settings of {name}", "action", f"/queues/{name}/settings", "queues")
                yield Hit(f"Purge {name}…", "action", f"/queues/{name}/purge", "queues")
            if identity.can(Permission.JOBS_READ):
                yield Hit(f"Jobs of {name}", "list", f"/jobs?queue={name}", "jobs")
            if identity.can(Permission.DLQ_READ):
                yield Hit(f"Dead letters of {name}", "list", f"/dead?queue={name}", "dead")
    if identity.can(Permission.WORKERS_READ):
        for worker in snapshot.workers:
            name = f"{worker.host}:{worker.pid}"
            yield Hit(name, "worker", path_of(worker.id), "workers")
            if identity.can(Permission.WORKERS_WRITE) and any(_part(name.lower(), word) for word in words):
                yield Hit(f"Stop {name}…", "action", f"{path_of(worker.id)}/stop", "workers")


def _job(job: Job) -> Hit:
    return Hit(f"{job.id} {job.type}", f"{job.state.value} job", f"/jobs/{job.id}", job.state.value)


def _score(hit: Hit, words: list[str]) -> int:
    """How well the label answers all words together; 0 if one of them is not in it."""
    label = hit.label.lower().rstrip("…")
    whole = " ".join(words)
    if label == whole:
        return _EXACT * 10
    parts = [_part(label, word) for word in words]
    bonus = _BEGINS if label.startswith(whole) else 0
    return sum(parts) // len(parts) + bonus if all(parts) else 0


def _part(label: str, word: str) -> int:
    if label == word:
        return _EXACT
    if label.startswith(word):
        return _BEGINS
    at = label.find(word)
    if at > 0:
        return _INSIDE if label[at - 1].isalnum() else _WORD
    return _spread(label, word)


def _spread(label: str, word: str) -> int:
    """The letters in their order with others between: better the closer they stand. One letter alone is no match."""
    if len(word) < 2:
        return 0
    start = label.find(word[0])
    at = start
    for letter in word[1:]:
        at = label.find(letter, at + 1) if at >= 0 else -1
    return 0 if at < 0 else max(_SPREAD - (at - start - len(word)) * 10, 0)
