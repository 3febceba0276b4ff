"""What an action did, told on the page that follows: a cookie that lives for one page.

It is sealed with the session's form token, so nobody else can put words into the console's mouth.
"""

import base64
import binascii
import hmac

import msgspec
from litestar.datastructures import Cookie

from leaseforge_console.views.frame import Flash, Link

COOKIE = "leaseforge-flash"
_MAX_TEXT = 600
_MAX_LABEL = 60
_LIFETIME_S = 60
_Content = tuple[str, str, tuple[str, str] | None, tuple[str, str] | None]


def cookie(flash: Flash, *, seal: str, path: str, secure: bool) -> Cookie:
    """The cookie that carries `flash` to the next page; `seal` is the session's form token."""
    content = msgspec.json.encode([flash.tone, flash.text[:_MAX_TEXT], _words(flash.link), _words(flash.entry)])
    value = base64.urlsafe_b64encode(_sign(content, seal) + content).decode().rstrip("=")
    return _cookie(value, _LIFETIME_S, path=path, secure=secure)


def removed(*, path: str, secure: bool) -> Cookie:
    """The cookie that takes the told message away."""
    return _cookie("", 0, path=path, secure=secure)


def read(value: str | None, *, seal: str) -> tuple[Flash, ...]:
    """The message, if there is one and the console itself wrote it for this session."""
    if not value or len(value) > 4_000:
        return ()
    try:
        raw = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
        signature, content = raw[:32], raw[32:]
        if not hmac.compare_digest(signature, _sign(content, seal)):
            return ()
        tone, text, link, entry = msgspec.json.decode(content, type=_Content)
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        return ()
    return (Flash("bad" if tone == "bad" else "good", text, link and Link(*link), entry and Link(*entry)),)


def _words(link: Link | None) -> tuple[str, str] | None:
    return None if link is None else (link.label[:_MAX_LABEL], link.path[:_MAX_TEXT])


def _sign(content: bytes, seal: str) -> bytes:
    return hmac.digest(seal.encode(), b"flash:" + content, "sha256")


def _cookie(value: str, max_age: int, *, path: str, secure: bool) -> Cookie:
    return Cookie(COOKIE, path=path, value=value, max_age=max_age, secure=secure, httponly=True, samesite="lax")
