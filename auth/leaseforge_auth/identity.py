"""Who is behind a request."""

from dataclasses import dataclass, field
from typing import Literal

from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller of one request, with the roles the account has now, not those it had at login.

    `kind` says which credential was shown: the console's session, an access token from a login, or an API token.
    A service token's `username` is `service:` and its name. `csrf_token` is what forms of this browser session must
    carry; empty for a token, which no browser sends by itself.
    """

    username: str
    roles: tuple[Role, ...]
    permissions: frozenset[Permission]
    kind: Literal["session", "token", "api_token"]
    csrf_token: str = field(default="", repr=False)

    def can(self, permission: str) -> bool:
        """Whether the caller may do this; templates ask with the word itself, `can("queues:write")`."""
        return permission in self.permissions
