"""The frame around each page: rail, environment badge, user menu, messages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from leaseforge.jobs import JobState
from leaseforge.workers import WorkerState
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_console.views.notices import notices
from leaseforge_console.views.snapshot import Snapshot

THEMES = ("light", "dark", "auto")
KEYS = {
    "/": "o",
    "/queues": "q",
    "/jobs": "j",
    "/delayed": "l",
    "/dead": "d",
    "/operations": "p",
    "/workers": "w",
    "/metrics": "m",
    "/system": "s",
    "/users": "u",
    "/audit": "a",
    "/api": "i",
    "/account": "c",
}
"""The letters that lead to a page after `g`."""


class Offer(Protocol):
    """Something for those who hold all it needs."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The permissions."""
        ...


OfferT = TypeVar("OfferT", bound=Offer)


@dataclass(frozen=True, slots=True)
class RailItem:
    """One page of the rail. `alarm`: the count says how many things an operator must act on.

    `key` is the letter that leads there after `g`.
    """

    label: str
    path: str
    icon: str
    current: bool
    count: int | None
    alarm: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A way on from a message: its words, and a page of the console without the prefix, as `link` takes it."""

    label: str
    path: str


@dataclass(frozen=True, slots=True)
class Flash:
    """What the last action did, told once on the page that follows. `tone` is "good" or "bad".

    `entry` leads to what the audit trail has about it; the console adds it by itself.
    """

    tone: str
    text: str
    link: Link | None = None
    entry: Link | None = None

    @property
    def links(self) -> tuple[Link, ...]:
        """All ways on."""
        return tuple(link for link in (self.link, self.entry) if link is not None)


@dataclass(frozen=True, slots=True)
class Frame:
    """What `frame.html` needs besides the page itself.

    `live_path` is the page's stream of updates, None for a page that stands still: only the counts of the rail, of
    which `section` is the page's part, follow there. `keys`: single keys do something in this browser.
    """

    title: str
    environment: str
    gravity: str
    version: str
    identity: Identity
    theme: str
    rail: tuple[RailItem, ...]
    flashes: tuple[Flash, ...]
    now: datetime
    live_path: str | None
    section: str
    keys: bool

    def can(self, *permissions: str) -> bool:
        """Whether the user may do what needs all of these; the server refuses it all the same."""
        return all(self.identity.can(permission) for permission in permissions)

    def allowed(self, offers: Iterable[OfferT]) -> tuple[OfferT, ...]:
        """Those of the offers the user may take."""
        return tuple(offer for offer in offers if self.can(*offer.needs))


def rail(snapshot: Snapshot | None, section: str, identity: Identity) -> tuple[RailItem, ...]:
    """The pages this user may read, with their counts as far as they are known; red only where somebody must act."""
    wrong = len(notices(snapshot)) if snapshot else 0
    lost = sum(worker.state is WorkerState.LOST for worker in snapshot.workers) if snapshot else 0
    queues = len(snapshot.queues) if snapshot else None
    workers = len(snapshot.workers) if snapshot else None
    dead = snapshot.total(JobState.DEAD) if snapshot else None
    going = snapshot.operations if snapshot else None
    delayed = snapshot.total(JobState.SCHEDULED) + snapshot.total(JobState.RETRYING) if snapshot else None

    def item(
        label: str, path: str, icon: str, needs: Sequence[Permission], count: int | None = None, *, alarm: bool = False
    ) -> Iterator[RailItem]:
        if not needs or any(identity.can(permission) for permission in needs):
            current = section == (path.strip("/") or "overview")
            yield RailItem(label, path, icon, current, count, alarm, KEYS.get(path, ""))

    return (
        *item("Overview", "/", "home", [Permission.QUEUES_READ], wrong or None, alarm=wrong > 0),
        *item("Queues", "/queues", "queues", [Permission.QUEUES_READ], queues),
        *item("Jobs", "/jobs", "jobs", [Permission.JOBS_READ]),
        *item("Delayed", "/delayed", "scheduled", [Permission.DELAYED_READ], delayed or None),
        *item("Dead letters", "/dead", "dead", [Permission.DLQ_READ], dead or None, alarm=bool(dead)),
        *item(
            "Operations",
            "/operations",
            "operations",
            [Permission.JOBS_READ],
            (going.unsettled or None) if going else None,
            alarm=bool(going and going.stopped),
        ),
        *item("Workers", "/workers", "workers", [Permission.WORKERS_READ], workers, alarm=lost > 0),
        *item("Metrics", "/metrics", "chart", [Permission.METRICS_READ]),
        *item("System", "/system", "system", [Permission.SYSTEM_READ]),
        *item("Users & tokens", "/users", "users", [Permission.USERS_READ]),
        *item("Audit", "/audit", "audit", [Permission.AUDIT_READ]),
        *item("API", "/api", "api", []),
        *item("Account", "/account", "user", []),
    )


def gravity(environment: str) -> str:
    """How loud the environment badge is: "grave" where real jobs run, "watch" where people test, else ""."""
    word = environment.lower()
    if word.startswith(("prod", "live")):
        return "grave"
    return "watch" if word.startswith(("stag", "pre", "uat", "test", "qa")) else ""
