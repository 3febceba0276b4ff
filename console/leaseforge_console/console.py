"""Turns view models into responses: pages in their frame, pages on their own, fragments, and ways onward."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from litestar import Request, Response
from litestar.datastructures import Cookie

from leaseforge_auth.audit.action import action_behind
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_console import flash, htmx
from leaseforge_console.assets import StaticFiles, asset_dir
from leaseforge_console.exports import Exports
from leaseforge_console.paths import HOME
from leaseforge_console.recently import Recently
from leaseforge_console.settings import ConsoleSettings
from leaseforge_console.templating import environment
from leaseforge_console.views.frame import THEMES, Flash, Frame, Link, gravity, rail
from leaseforge_console.views.snapshot import Snapshot

THEME_COOKIE = "leaseforge-theme"
KEYS_COOKIE = "leaseforge-keys"
_YEAR_S = 365 * 86_400
HTML = "text/html"
ConsoleRequest = Request[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page stands: its title, the section of the rail it belongs to, its stream of updates if it has one."""

    title: str
    section: str
    live_path: str | None = None


class Console:
    """What all pages share: settings, templates and static files, read once, what was read lately, files under way."""

    def __init__(self, settings: ConsoleSettings) -> None:
        self.settings = settings
        self.recently = Recently()
        self.exports = Exports()
        self.static = StaticFiles(asset_dir("static"), root_path=settings.root_path)
        self._templates = environment(settings, self.static)
        self._cookie_path = f"{settings.root_path}{HOME}"

    def page(
        self,
        request: ConsoleRequest,
        template: str,
        page: object,
        place: Place,
        *,
        snapshot: Snapshot | None,
        status: int = 200,
        told: Flash | None = None,
    ) -> Response[str]:
        """A page in its frame. A message of the action before is told here, once; `told` is one of this very answer."""
        frame = self._frame(request, place, snapshot)
        cookies = [self._no_flash()] if frame.flashes else []
        if told is not None:
            frame = replace(frame, flashes=(*frame.flashes, replace(told, entry=audit_entry(request))))
        return self._answer(self.fragment(template, frame=frame, page=page), status, cookies=cookies)

    def lone(self, request: ConsoleRequest, template: str, page: object, *, status: int = 200) -> Response[str]:
        """A page without a frame: for those who are not logged in, and for errors."""
        theme = _theme(request)
        return self._answer(
            self.fragment(
                template, theme=theme, page=page, settings=self.settings, gravity=gravity(self.settings.environment)
            ),
            status,
        )

    def part(self, template: str, page: object) -> Response[str]:
        """A piece of a page that htmx asked for by itself."""
        return self._answer(self.fragment(template, page=page), 200)

    def update(self, request: ConsoleRequest, template: str, page: object, place: Place, snapshot: Snapshot) -> str:
        """The parts of a page that live updates replace, rendered from the page's own partials."""
        return self.fragment(template, frame=self._frame(request, place, snapshot), page=page)

    def toast(self, tone: str, text: str, *, status: int, headers: dict[str, str] | None = None) -> Response[str]:
        """One message for the page on screen, in answer to a request of htmx."""
        body = self.fragment("partials/shared/toast.html", flash=Flash(tone, text))
        return self._answer(body, status, headers={**htmx.toast_headers(), **(headers or {})})

    def go(
        self, request: ConsoleRequest, path: str, told: Flash | None = None, *, seal: str | None = None
    ) -> Response[Any]:
        """On to another page after an action, with a message about what the action did.

        Who may read the audit trail is led to what it has about the action. `seal` is the form token of the session
        that reads the message, where that is a new one.
        """
        cookies = []
        if told is not None:
            seal = seal or identity_of(request).csrf_token
            cookies = [self.told(replace(told, entry=audit_entry(request)), seal=seal)]
        return htmx.go(request, self.settings.root_path, path, cookies)

    def told(self, message: Flash, *, seal: str) -> Cookie:
        """Carries a message to the next page of the session whose form token is `seal`."""
        return flash.cookie(message, seal=seal, path=self._cookie_path, secure=self.settings.secure)

    def page_on_screen(self, request: ConsoleRequest) -> str:
        """Where the user is, to come back there; the Overview if that is unknown."""
        return htmx.page_on_screen(request, self.settings.root_path) or HOME

    def after_confirmation(self, request: ConsoleRequest, fallback: str) -> str:
        """Back to the page a dialog was opened on; from a confirmation that was a page of its own, to `fallback`."""
        on_screen = htmx.page_on_screen(request, self.settings.root_path)
        return on_screen if on_screen and on_screen.partition("?")[0] != request.scope["path"] else fallback

    def theme_cookie(self, theme: str) -> Cookie:
        """Remembers the user's choice of light, dark, or whatever the system says."""
        return self._choice(THEME_COOKIE, theme)

    def keys_cookie(self, keys: str) -> Cookie:
        """Remembers whether single keys do something in this browser: "on" or "off"."""
        return self._choice(KEYS_COOKIE, keys)

    def _choice(self, name: str, value: str) -> Cookie:
        return Cookie(
            name,
            path=self._cookie_path,
            value=value,
            max_age=_YEAR_S,
            secure=self.settings.secure,
            httponly=True,
            samesite="lax",
        )

    def fragment(self, template: str, **context: object) -> str:
        """A template as text."""
        return self._templates.get_template(template).render(context)

    def _frame(self, request: ConsoleRequest, place: Place, snapshot: Snapshot | None) -> Frame:
        identity = identity_of(request)
        return Frame(
            title=place.title,
            environment=self.settings.environment,
            gravity=gravity(self.settings.environment),
            version=self.settings.version,
            identity=identity,
            theme=_theme(request),
            rail=rail(snapshot, place.section, identity),
            flashes=flash.read(request.cookies.get(flash.COOKIE), seal=identity.csrf_token),
            now=snapshot.now if snapshot else datetime.now(UTC),
            live_path=place.live_path,
            section=place.section,
            keys=request.cookies.get(KEYS_COOKIE) != "off",
        )

    def _no_flash(self) -> Cookie:
        return flash.removed(path=self._cookie_path, secure=self.settings.secure)

    def _answer(
        self, body: str, status: int, *, headers: dict[str, str] | None = None, cookies: list[Cookie] | None = None
    ) -> Response[str]:
        # Pages differ for htmx and between users, and hold what only the logged-in may see.
        own = {"Cache-Control": "no-store", "Vary": "HX-Request", **(headers or {})}
        return Response(body, status_code=status, media_type=HTML, headers=own, cookies=cookies)


def identity_of(request: ConsoleRequest) -> Identity:
    """Who asks; only for routes that are not public."""
    identity: Identity = request.user
    return identity


def audit_entry(request: ConsoleRequest) -> Link | None:
    """To what the audit trail has about the action of this request, for those who may read it."""
    action = action_behind(request)
    if action is None or not (request.user and identity_of(request).can(Permission.AUDIT_READ)):
        return None
    return Link("Audit entry", f"/audit?id={action.id}")


def _theme(request: ConsoleRequest) -> str:
    theme = request.cookies.get(THEME_COOKIE, "")
    return theme if theme in THEMES else "auto"
