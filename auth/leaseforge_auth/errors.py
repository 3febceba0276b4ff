"""Everything that keeps a caller out. No HTTP status here: the API's problems and the console's pages decide that.

AuthError
├── NotAuthenticated     no credential, or one that is not valid (any more)
├── NotPermitted         known, but not allowed to do this
├── CrossSiteRequest     a browser was sent here by another site, or the form's token is missing or old
├── UserNotFound         no account of this name
├── UsernameTaken
├── UserChanged          the account was changed by somebody else meanwhile
├── UserFromSettings     its roles and password are the settings' to change
├── LastAdministrator    nobody could run the place any more
├── NoPassword
├── SessionNotFound
├── TokenNotFound        no API token of this id, or not the caller's
├── TokenNameTaken       a service token of this name lives
├── TooManyTokens        the account has as many API tokens as it may
├── ViewNotFound         no saved view of this id, or not the caller's
└── TryAgainLater        too many attempts, or too many password checks waiting
    ├── TooManyAttempts
    └── TooBusy
"""

from leaseforge.errors import LeaseforgeError


class AuthError(LeaseforgeError):
    """The caller is kept out."""


class NotAuthenticated(AuthError):
    """Authentication is required."""

    def __init__(self, message: str = "authentication is required", *, had_credential: bool = False) -> None:
        super().__init__(message)
        self.had_credential = had_credential


class NotPermitted(AuthError):
    """The caller's roles do not allow this."""

    def __init__(self, needed: str) -> None:
        super().__init__(f"your roles do not allow this: it needs {needed}")
        self.needed = needed


class CrossSiteRequest(AuthError):
    """The request did not come from a page of ours, or its form token is missing or out of date."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class UserNotFound(AuthError):
    """No account of this name."""

    def __init__(self, username: str) -> None:
        super().__init__(f"no user {username}")


class UsernameTaken(AuthError):
    """An account of this name is there already."""

    def __init__(self, username: str) -> None:
        super().__init__(f"there is a user {username} already")


class UserChanged(AuthError):
    """The account is not any more what it was when this change was asked for."""

    def __init__(self, username: str) -> None:
        super().__init__(f"{username} has changed since, by somebody else or by this very form sent before: look again")


class UserFromSettings(AuthError):
    """What was to be changed is set by the server's settings, which would change it back."""

    def __init__(self, username: str) -> None:
        super().__init__(f"{username} comes from the server's settings: change roles and password there")


class NoPassword(AuthError):
    """The account logs in elsewhere."""

    def __init__(self, username: str) -> None:
        super().__init__(f"{username} logs in by single sign-on: there is no password to change")


class LastAdministrator(AuthError):
    """Without this account nobody could run the place any more."""

    def __init__(self, username: str) -> None:
        super().__init__(f"{username} is the last enabled administrator: make another one first")


class SessionNotFound(AuthError):
    """No session of this id, or not one of this account's."""

    def __init__(self, public_id: str) -> None:
        super().__init__(f"no session {public_id}")


class TokenNotFound(AuthError):
    """No API token of this id, or not one the caller may touch."""

    def __init__(self, token_id: str) -> None:
        super().__init__(f"no token {token_id}")


class TokenNameTaken(AuthError):
    """A service token of this name lives: names tell services apart."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a service token named {name!r}: revoke it first, or choose another name")


class TooManyTokens(AuthError):
    """The account has as many API tokens as it may."""

    def __init__(self, most: int) -> None:
        super().__init__(f"an account has at most {most} API tokens: revoke one first")


class ViewNotFound(AuthError):
    """No saved view of this id; those of other accounts count as none."""

    def __init__(self, view_id: str) -> None:
        super().__init__(f"no saved view {view_id}")


class TryAgainLater(AuthError):
    """Refused for now; `retry_after_s` says when asking again makes sense."""

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TooManyAttempts(TryAgainLater):
    """Too many failed logins for this account from this address."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__("too many login attempts: wait before the next one", retry_after_s=retry_after_s)


class TooBusy(TryAgainLater):
    """Too many password checks are waiting."""

    def __init__(self) -> None:
        super().__init__("the server is busy checking other logins: try again in a moment", retry_after_s=2)
