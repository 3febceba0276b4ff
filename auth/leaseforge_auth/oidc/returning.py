"""Where a login leads back to: a page here, or another program of an allowed origin."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from leaseforge_auth.oidc.errors import SsoBadReturn

HOME = "/console"
MOST_CHARACTERS = 2_000
# No backslash, double quote, space, control or foreign character: browsers read those in surprising ways.
_SAFE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+", re.ASCII)
_AUTHORITY = re.compile(r"[a-z0-9.-]+(?::[0-9]{1,5})?|\[[0-9a-f:]+\](?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """`address` is a path below the server's prefix, or (`is_local` off) the address of another program."""

    address: str
    is_local: bool


def parse_return(text: str | None, *, allowed_origins: Sequence[str], root_path: str = "") -> Target:
    """Judges what a caller wants to come back to; the console if they say nothing. Raises SsoBadReturn."""
    if text is None:
        return Target(HOME, is_local=True)
    if not text or len(text) > MOST_CHARACTERS or not _SAFE.fullmatch(text):
        raise SsoBadReturn
    if text.startswith("/"):
        return Target(_local(text, root_path), is_local=True)
    scheme, mark, rest = text.partition("://")
    if not mark or scheme not in ("http", "https") or "#" in rest:
        raise SsoBadReturn
    authority = re.split("[/?]", rest, maxsplit=1)[0]
    if not _AUTHORITY.fullmatch(authority) or f"{scheme}://{authority.lower()}" not in allowed_origins:
        raise SsoBadReturn
    if any(part.partition("=")[0] == "code" for part in urlsplit(text).query.split("&")):
        raise SsoBadReturn
    return Target(text, is_local=False)


def with_code(target: Target, code: str) -> str:
    """The address of another program with the one-time code it exchanges."""
    return f"{target.address}{'&' if '?' in target.address else '?'}code={code}"


def _local(text: str, root_path: str) -> str:
    path, mark, query = text.partition("?")
    if root_path and f"{path}/".startswith(f"{root_path}/"):
        path = path[len(root_path) :] or "/"
    decoded = re.sub("%2e", ".", path, flags=re.IGNORECASE)
    leads_elsewhere = "//" in path or "%2f" in path.lower() or "%5c" in path.lower() or "%0" in path or "%1" in path
    if leads_elsewhere or not path.startswith("/") or any(part in (".", "..") for part in decoded.split("/")):
        raise SsoBadReturn
    if not f"{path}/".startswith(f"{HOME}/"):
        # A session is of use on the console's pages only; the server's own root leads there.
        if path != "/":
            raise SsoBadReturn
        path = HOME
    return path + mark + query
