"""Addresses inside the console: building them, and judging those that come from outside."""

import re
from urllib.parse import quote, urlsplit

HOME = "/console"
ACCOUNT = f"{HOME}/account"
"""The one page everybody may read who is logged in."""

_LOCAL = re.compile(r"/console(?:[/?][\x21\x23-\x5b\x5d-\x7e]*)?", re.ASCII)


def local_path(text: str | None) -> str | None:
    """The text if it is the address of a console page on this very host, else None.

    Anything a browser could read as another host or scheme is refused: `//host`, backslashes, control characters.
    """
    if text is None or len(text) > 2_000 or "//" in text.partition("?")[0]:
        return None
    return text if _LOCAL.fullmatch(text) else None


def of_url(url: str | None, root_path: str) -> str | None:
    """The local path of a full URL a browser reports (HX-Current-URL, Referer), without the installation's prefix."""
    if not url:
        return None
    parts = urlsplit(url)
    path = parts.path.removeprefix(root_path) + (f"?{parts.query}" if parts.query else "")
    return local_path(path)


def login_path(back: str | None, *, undone: bool = False) -> str:
    """The login page that leads back to where somebody was; `undone`: what they had just sent was not carried out."""
    asked = [f"next={quote(back, safe='/')}"] if back and back != HOME else []
    asked += ["undone=1"] if undone else []
    return f"{HOME}/login" + (f"?{'&'.join(asked)}" if asked else "")
