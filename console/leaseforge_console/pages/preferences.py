"""The user's own choices: the theme."""

from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Response, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.exceptions import ValidationException
from litestar.params import Body

from leaseforge_auth.guards import any_identity
from leaseforge_console.console import Console, ConsoleRequest
from leaseforge_console.views.frame import THEMES


@dataclass(frozen=True, slots=True)
class ThemeSent:
    """The theme chosen."""

    theme: str


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
