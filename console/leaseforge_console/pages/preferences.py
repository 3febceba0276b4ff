"""The user's own choices: the theme, and whether single keys do something."""

from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Response, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.exceptions import ValidationException
from litestar.params import Body

from leaseforge_auth.guards import any_identity
from leaseforge_console.console import Console, ConsoleRequest
from leaseforge_console.paths import ACCOUNT
from leaseforge_console.views.frame import THEMES, Flash


@dataclass(frozen=True, slots=True)
class ThemeSent:
    """The theme chosen."""

    theme: str


@dataclass(frozen=True, slots=True)
class KeysSent:
    """Whether single keys do something: "on" or "off"."""

    keys: str


@post("/theme", **any_identity())
async def choose_theme(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    data: Annotated[ThemeSent, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Remembers light, dark or auto in a cookie and leads back."""
    if data.theme not in THEMES:
        raise ValidationException("no such theme")
    response = console.go(request, console.page_on_screen(request))
    response.cookies.append(console.theme_cookie(data.theme))
    return response


@post("/keys", **any_identity())
async def switch_keys(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    data: Annotated[KeysSent, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Switches single keys on or off in this browser, for those whom they trouble (WCAG 2.1.4)."""
    if data.keys not in ("on", "off"):
        raise ValidationException("keys are on or off")
    response = console.go(request, ACCOUNT, Flash("good", f"Single keys are {data.keys} in this browser."))
    response.cookies.append(console.keys_cookie(data.keys))
    return response
