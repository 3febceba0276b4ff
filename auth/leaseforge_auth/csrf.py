"""Protection of the browser session against other sites: where a request comes from, and the token of our own forms."""

import hmac
from urllib.parse import urlsplit

from leaseforge_auth.errors import CrossSiteRequest

FORM_FIELD = "_csrf"
HEADER = "X-CSRF-Token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def token_for(session_id: str) -> str:
    """The form token of a session: it follows from the secret session id, so no other session's token fits."""
    return hmac.digest(session_id.encode(), b"leaseforge form token", "sha256").hex()


def check_token(sent: str | None, expected: str) -> None:
    """Refuse (CrossSiteRequest) a form whose token is missing or belongs to another session."""
    if sent is None or not hmac.compare_digest(sent.encode(), expected.encode()):
        raise CrossSiteRequest("the form is out of date: load the page again and repeat the action")


def check_origin(*, fetch_site: str | None, origin: str | None, host: str | None, web_url: str) -> None:
    """Refuse (CrossSiteRequest) a changing request that a browser does not declare to come from our own pages.

    Sec-Fetch-Site decides where the browser sends it; else the Origin header has to be that of `web_url`, or of the
    Host the request names when no public URL is configured. With neither header there is no telling: refused.
    """
    if fetch_site is not None:
        if fetch_site == "same-origin":
            return
    elif origin is not None and origin in _own_origins(host, web_url):
        return
    raise CrossSiteRequest("the request does not come from a page of this console")


def _own_origins(host: str | None, web_url: str) -> set[str]:
    if web_url:
        parts = urlsplit(web_url)
        return {f"{parts.scheme}://{parts.netloc}"}
    return {f"http://{host}", f"https://{host}"} if host else set()
