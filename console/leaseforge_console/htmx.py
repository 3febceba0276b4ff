"""The only place that knows how a browser with htmx differs from one without.

A form posts and is answered by a redirect, with or without script. With htmx the browser follows the redirect and
takes the new page's content into the old one; where the answer leads to another page, it is told to go there.
"""

from typing import Any, Final

from litestar import Request, Response
from litestar.datastructures import Cookie
from litestar.response import Redirect

from leaseforge_console.paths import of_url

SEE_OTHER: Final = 303


def is_htmx(request: Request[Any, Any, Any]) -> bool:
    """Whether htmx sent the request and will put the answer into the page it shows."""
    return request.headers.get("hx-request") == "true"


def page_on_screen(request: Request[Any, Any, Any], root_path: str) -> str | None:
    """The console page the request comes from, for htmx and plain browsers alike."""
    return of_url(request.headers.get("hx-current-url") or request.headers.get("referer"), root_path)


def go(request: Request[Any, Any, Any], root_path: str, path: str, cookies: list[Cookie]) -> Response[Any]:
    """Leads on to `path`. The page on screen is refreshed in place; any other one is opened."""
    target = root_path + path
    if is_htmx(request) and page_on_screen(request, root_path) != path:
        return Response(b"", status_code=200, headers={"HX-Redirect": target}, cookies=cookies)
    return Redirect(target, status_code=SEE_OTHER, cookies=cookies)


def toast_headers() -> dict[str, str]:
    """Puts the answer, one toast, among the messages instead of where the request wanted its answer."""
    return {"HX-Retarget": "#toasts", "HX-Reswap": "beforeend", "HX-Reselect": ".toast"}


def ask_again_headers(part: str = "#confirm") -> dict[str, str]:
    """Puts that part of the answer, a confirmation if not told otherwise, in the place of the one that was sent."""
    return {"HX-Retarget": part, "HX-Reselect": part, "HX-Reswap": "outerMorph"}
