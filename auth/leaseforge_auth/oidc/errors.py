"""Why a login through the provider does not come about.

SsoError (AuthError)
├── SsoOff                  no provider is configured
├── SsoBadReturn            the address to come back to is none of those allowed
├── SsoLost                 the way back fits no login that was begun here, or no longer
├── SsoOtherBrowser         it was begun in another browser
├── SsoDenied               the provider, or what it says of the person, does not let them in
├── SsoUnavailable          the provider does not answer, or not in order
└── SsoMisconfigured        settings here and at the provider do not fit together

`cause` is a word for logs and the audit trail; the message is for whoever is kept out and quotes nothing secret.
"""

from leaseforge_auth.errors import AuthError


class SsoError(AuthError):
    """The login does not come about."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class SsoOff(SsoError):
    """No provider is configured."""

    def __init__(self) -> None:
        super().__init__("off", "single sign-on is not set up here (LEASEFORGE_OIDC_ISSUER)")


class SsoBadReturn(SsoError):
    """The address to come back to after the login would lead somewhere else."""

    def __init__(self) -> None:
        words = "return_to must be a path of this server, or an address of an origin in LEASEFORGE_OIDC_ALLOWED_ORIGINS"
        super().__init__("bad_return", words)


class SsoLost(SsoError):
    """No login that was begun here, or one that is over: the way back is good once and for ten minutes."""


class SsoOtherBrowser(SsoError):
    """The login was begun in another browser, or at another name of this server."""


class SsoDenied(SsoError):
    """The provider, or what it says of the person, does not let them in."""


class SsoUnavailable(SsoError):
    """The provider cannot be asked at the moment; trying again later makes sense."""


class SsoMisconfigured(SsoError):
    """An administrator has to change settings, here or at the provider."""
