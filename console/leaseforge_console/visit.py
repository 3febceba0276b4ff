"""One request of somebody who is logged in: who asks, and the ways to answer."""

from dataclasses import dataclass
from typing import Any

import structlog
from litestar import Response
from litestar.di import NamedDependency
from litestar.response import Stream

from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_console import htmx
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.forms import Sent, sent_by
from leaseforge_console.live import Live, read_snapshot
from leaseforge_console.stream import Watched, stream
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.snapshot import Snapshot

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Visit:
    """What every handler has at hand. Not for public routes: there nobody is known."""

    request: ConsoleRequest
    console: Console
    store: Store
    live: Live

    @property
    def identity(self) -> Identity:
        """Who asks."""
        return identity_of(self.request)

    @property
    def user(self) -> str:
        """The name of who asks."""
        return self.identity.username

    async def snapshot(self) -> Snapshot:
        """All queues and workers as they are now."""
        return await read_snapshot(self.store)

    async def rail_counts(self) -> Snapshot | None:
        """All queues and workers for the counts beside a page that is everybody's; None for who may not see them."""
        return await self.snapshot() if self.identity.can(Permission.QUEUES_READ) else None

    def page(
        self,
        template: str,
        page: object,
        place: Place,
        snapshot: Snapshot | None,
        *,
        status: int = 200,
        told: Flash | None = None,
    ) -> Response[str]:
        """A page in its frame, see `Console.page`."""
        return self.console.page(self.request, template, page, place, snapshot=snapshot, status=status, told=told)

    async def show(
        self,
        template: str,
        watched: Watched,
        *,
        snapshot: Snapshot | None = None,
        status: int = 200,
        told: Flash | None = None,
    ) -> Response[str]:
        """A page with a live side, read and built as its updates are."""
        snapshot = snapshot or await self.snapshot()
        data = await watched.topic.load(self.store, snapshot, *watched.topic.args)
        page = watched.view(snapshot, data)
        return self.page(template, page, watched.place, snapshot, status=status, told=told)

    def question(
        self, template: str, page: object, place: Place, snapshot: Snapshot | None, *, status: int = 200
    ) -> Response[str]:
        """A confirmation; one that is refused (a status from 400) is asked again in the place of the one sent."""
        response = self.page(template, page, place, snapshot, status=status)
        if status >= 400:
            response.headers.update(htmx.ask_again_headers())
        return response

    def watch(self, watched: Watched) -> Stream:
        """The updates of a page. Raises TooManyStreams."""
        return stream(self.request, self.console, self.live, watched)

    def go(self, path: str, told: str = "") -> Response[Any]:
        """On to another page, with a sentence about what was done."""
        return self.console.go(self.request, path, Flash("good", told) if told else None)

    def refuse(self, path: str, told: str) -> Response[Any]:
        """On to another page, with a sentence about what was not done; the audit trail has it as refused."""
        action_of(self.request).refused()
        return self.console.go(self.request, path, Flash("bad", told))

    def page_on_screen(self) -> str:
        """Where the user is, to come back there; the Overview if that is unknown."""
        return self.console.page_on_screen(self.request)

    def after_confirmation(self, fallback: str) -> str:
        """Back to the page a dialog was opened on; from a confirmation that was a page of its own, to `fallback`."""
        return self.console.after_confirmation(self.request, fallback)

    def did(self, event: str, **facts: object) -> None:
        """Logs what the user did just now, and lets live pages show it at once."""
        log.info(event, **facts, user=self.user)
        self.live.nudge(self.request.auth)

    async def sent(self) -> Sent:
        """What the form of this request sent."""
        return await sent_by(self.request)

    def note(self, **facts: Any) -> None:
        """Adds facts to what the audit trail keeps of this action."""
        action_of(self.request).note(**facts)


async def visit_of(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
) -> Visit:
    """As `visit` for routes."""
    return Visit(request, console, store, live)
