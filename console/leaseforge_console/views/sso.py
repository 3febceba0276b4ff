"""Why a login through the provider did not come about, in words for whoever wanted to log in."""

from dataclasses import dataclass

from leaseforge_auth.oidc import errors as sso

_ASK_ADMINISTRATOR = "Ask an administrator of this Leaseforge"


@dataclass(frozen=True, slots=True)
class SsoRefusal:
    """The page. `said` is what was missing, `advice` what to do or whom to ask.

    `other_account`: the person may have an account that fits better.
    `cause` is the word the log has for it, `reference` the id of the request there.
    """

    status: int
    title: str
    said: str
    advice: str
    cause: str
    reference: str
    again: bool
    other_account: bool


_KINDS: dict[type[sso.SsoError], tuple[int, str, str]] = {
    sso.SsoOff: (404, "There is no single sign-on here", "Log in with a name and a password."),
    sso.SsoBadReturn: (400, "The way back is not allowed", "Begin at the login page, or ask whoever sent you here."),
    sso.SsoLost: (
        400,
        "This login is over",
        "A login is good once, and for ten minutes. Begin again at the login page.",
    ),
    sso.SsoOtherBrowser: (
        400,
        "This login was begun elsewhere",
        "Log in in the browser where you began, with cookies allowed, and under the same address of this console "
        "(localhost is not 127.0.0.1). If somebody sent you the link, do not use it.",
    ),
    sso.SsoDenied: (403, "You are not let in", f"{_ASK_ADMINISTRATOR}, and tell them the cause below."),
    sso.SsoUnavailable: (
        503,
        "The login provider does not answer",
        "Try again in a moment. If it goes on, tell whoever runs the provider.",
    ),
    sso.SsoMisconfigured: (
        503,
        "Single sign-on is not set up in order",
        f"{_ASK_ADMINISTRATOR}: settings here and at the provider have to fit together.",
    ),
}
_CAUSES: dict[str, tuple[str, str]] = {
    "email_not_verified": (
        "Your e-mail address is not verified",
        "Verify it at the provider and log in again. If the provider never says so, an administrator of this "
        "Leaseforge can trust its addresses.",
    ),
    "no_email": (
        "Your e-mail address is missing",
        "Give the provider an address, and let it pass the address on. If it asks for no such thing, an administrator "
        "has to ask it for the scope email.",
    ),
    "no_role": (
        "You have no role here",
        f"The provider knows you, but no list of this Leaseforge does. {_ASK_ADMINISTRATOR} for a role, with the "
        "address above.",
    ),
    "account_disabled": ("Your account is disabled", f"{_ASK_ADMINISTRATOR} if that is a mistake."),
    "no_name": ("Your name is taken", f"{_ASK_ADMINISTRATOR} to remove the other account."),
    "provider_denied": (
        "The provider did not let you in",
        "Perhaps you stopped half-way: then try again. Else ask whoever runs the provider to let you use Leaseforge.",
    ),
}


def refusal(error: sso.SsoError, reference: str) -> SsoRefusal:
    """The page for an error."""
    status, title, advice = _KINDS[type(error)]
    if isinstance(error, sso.SsoDenied):
        title, advice = _CAUSES.get(error.cause, (title, advice))
    said = f"{str(error)[:1].upper()}{str(error)[1:]}."
    return SsoRefusal(
        status,
        title,
        said,
        advice,
        error.cause,
        reference,
        again=not isinstance(error, (sso.SsoOff, sso.SsoBadReturn)),
        other_account=error.cause in _CAUSES and error.cause != "provider_denied",
    )
