"""Where the commands that use the API send their requests, and as whom."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from leaseforge.settings import setting


def api_url(text: str) -> str:
    """The address of a server, without a slash at its end: http(s)://host[:port][/prefix]."""
    wrong = "must be the address of a server, such as http://127.0.0.1:8080 or https://example.com/jobs"
    try:
        parts = urlsplit(text.strip())
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError(wrong) from None
    if not is_right or parts.username is not None or parts.query or parts.fragment or not text.strip().isprintable():
        raise ValueError(wrong)
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def api_token(text: str) -> str:
    """A token as it goes into a header."""
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("must be an access token or an API token, without spaces")
    return text


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What wins over the login that `leaseforge login` has kept."""

    api_url: str | None = setting(
        "LEASEFORGE_API_URL", default=None, parse=api_url, help="the server that commands use, without /api"
    )
    token: str | None = setting(
        "LEASEFORGE_TOKEN", default=None, parse=api_token, secret=True, help="the token that commands send"
    )
