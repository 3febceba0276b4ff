"""How a route declares who may use it and what it is called in the audit trail; without that it is open to nobody.

`@post("/pause", **permission(Permission.QUEUES_WRITE, audit="queue.pause"))`. The declaration is all there is: the
middleware reads it, so what is declared and what is enforced cannot differ, and a test can walk all routes.
"""

from typing import Any, TypedDict

from leaseforge_auth.permissions import Permission

PERMISSION = "permission"
PUBLIC = "public"
ANY_IDENTITY = "any_identity"
AUTH = "auth"
AUDIT = "audit"
"""The word the audit trail has for what a route does; every route that changes something but enqueues has one.

Of a public route the route itself says when its action begins: before, it cannot be told who is asking.
"""
LOGGED_IN = "logged_in"
"""For what concerns a person's own way in: an API token, which was made to do a few things, is refused."""
PASSIVE = "passive"
"""On a route a page asks by itself: such a request does not keep the session alive."""


class Declaration(TypedDict):
    """Keyword arguments of a route."""

    opt: dict[str, Any]


def permission(*any_of: Permission, **opt: Any) -> Declaration:
    """Open to callers with one of these permissions. Further options of the route go along."""
    return {"opt": {PERMISSION: any_of, **opt}}


def any_identity(**opt: Any) -> Declaration:
    """Open to everybody who is logged in."""
    return {"opt": {ANY_IDENTITY: True, **opt}}


def public(**opt: Any) -> Declaration:
    """Open to everybody. A public page that changes something is still only taken from our own pages."""
    return {"opt": {PUBLIC: True, **opt}}
