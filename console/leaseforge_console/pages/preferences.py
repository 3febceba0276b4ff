"""The user's own choices: the theme, and whether single keys do something."""

from dataclasses import dataclass
from typing import Any

from litestar import Response, post
from litestar.di import NamedDependency
from litestar.exceptions import ValidationException

from leaseforge_auth.guards import any_identity
from leaseforge_console.forms import FromForm
from leaseforge_console.paths import ACCOUNT
from leaseforge_console.views.frame import THEMES
from leaseforge_console.visit import Visit


@dataclass(frozen=True, slots=True)
class ThemeSent:
    """The theme chosen."""

    theme: str


@dataclass(frozen=True, slots=True)
class KeysSent:
    """Whether single keys do something: "on" or "off"."""

    keys: str


@post("/theme", **any_identity())
async def choose_theme(visit: NamedDependency[Visit], data: FromForm[ThemeSent]) -> Response[Any]:
    """Remembers light, dark or auto in a cookie and leads back."""
    if data.theme not in THEMES:
        raise ValidationException("no such theme")
    response = visit.go(visit.page_on_screen())
    response.cookies.append(visit.console.theme_cookie(data.theme))
    return response


@post("/keys", **any_identity())
async def switch_keys(visit: NamedDependency[Visit], data: FromForm[KeysSent]) -> Response[Any]:
    """Switches single keys on or off in this browser, for those whom they trouble (WCAG 2.1.4)."""
    if data.keys not in ("on", "off"):
        raise ValidationException("keys are on or off")
    response = visit.go(ACCOUNT, f"Single keys are {data.keys} in this browser.")
    response.cookies.append(visit.console.keys_cookie(data.keys))
    return response
