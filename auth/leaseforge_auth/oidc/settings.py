"""Settings of single sign-on."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from urllib.parse import urlsplit

import msgspec

from leaseforge.errors import FieldProblem, SettingsError
from leaseforge.settings import flag, setting
from leaseforge_auth.addresses import is_loopback
from leaseforge_auth.roles import Role

CALLBACK_PATH = "/api/auth/oidc/callback"
LOGIN_PATH = "/api/auth/oidc/login"
DISCOVERY_PATH = "/.well-known/openid-configuration"
_TENANTLESS = ("/common", "/organizations", "/consumers")
_DEFAULT_ROLES = (Role.VIEWER, Role.OPERATOR, Role.PRODUCER)


def issuer(text: str) -> str:
    """Parses the issuer, which stays as it is written: providers compare it letter for letter."""
    found = text.strip()
    if "{" in found or any(f"{path}/" in f"{found}/" for path in _TENANTLESS if "microsoftonline" in found):
        raise ValueError("names no tenant: write the issuer of your own one, such as .../<tenant id>/v2.0")
    if DISCOVERY_PATH in found:
        raise ValueError(f"must end before {DISCOVERY_PATH}")
    parts = urlsplit(found)
    if not parts.hostname or parts.query or parts.fragment or parts.username or not found.isascii() or " " in found:
        raise ValueError("must be the provider's issuer, such as https://login.example.com/realms/staff")
    _check_scheme(found)
    return found


def redirect_url(text: str) -> str:
    """Parses the address the provider sends people back to."""
    found = text.strip()
    parts = urlsplit(found)
    if not parts.hostname or parts.query or parts.fragment or parts.username or not parts.path.endswith(CALLBACK_PATH):
        raise ValueError(f"must be this server's address as browsers see it, ending with {CALLBACK_PATH}")
    _check_scheme(found)
    return found


def origins(text: str) -> tuple[str, ...]:
    """Parses origins: scheme, host and port, nothing behind."""
    return tuple(_origin(entry) for entry in entries(text))


def emails(text: str) -> tuple[str, ...]:
    """Parses whole e-mail addresses."""
    found = entries(text)
    for entry in found:
        name, _, domain = entry.rpartition("@")
        if not name or not domain or " " in entry or "*" in entry:
            raise ValueError("must be whole e-mail addresses separated by commas: no domains, no patterns")
    return tuple(folded(entry) for entry in found)


def folded(email: str) -> str:
    """An address as it is compared. Letters outside ASCII stay: folding would make different people's alike."""
    return email.lower() if email.isascii() else email


def entries(text: str) -> tuple[str, ...]:
    """Parses values separated by commas or line ends, or a JSON list, for values that hold commas."""
    if text.lstrip().startswith("["):
        try:
            found = msgspec.json.decode(text, type=list[str])
        except msgspec.MsgspecError as error:
            raise ValueError(f"begins like a JSON list of texts and is none: {error}") from None
    else:
        found = text.replace("\n", ",").split(",")
    return tuple(dict.fromkeys(entry.strip() for entry in found if entry.strip()))


def scopes(text: str) -> str:
    """Parses scopes separated by spaces."""
    found = text.replace(",", " ").split()
    if "openid" not in found:
        raise ValueError("must contain openid, such as: openid email profile")
    return " ".join(dict.fromkeys(found))


def hosts(text: str) -> tuple[str, ...]:
    """Parses host names."""
    found = tuple(entry.lower() for entry in entries(text))
    if any("/" in entry or "*" in entry or entry.count(":") == 1 for entry in found):
        raise ValueError("must be host names or addresses separated by commas, without scheme, port or path")
    return found


def default_role(text: str) -> tuple[Role, ...]:
    """Parses the role of those no list names."""
    word = text.strip().lower()
    if word == "none":
        return ()
    if word not in _DEFAULT_ROLES:
        raise ValueError(f"must be none, {', '.join(_DEFAULT_ROLES[:-1])} or {_DEFAULT_ROLES[-1]}")
    return (Role(word),)


def short_name(text: str) -> str:
    """Checks a word for a button."""
    found = text.strip()
    if not 1 <= len(found) <= 40 or not found.isprintable():
        raise ValueError("must be 1 to 40 printable characters")
    return found


def short_text(most: int) -> Callable[[str], str]:
    """Checks a text without line ends or other control characters."""

    def parse(text: str) -> str:
        if len(text) > most or not text.isprintable():
            raise ValueError(f"must be at most {most} printable characters")
        return text

    return parse


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The provider, who may come in by it and as what. Without an issuer single sign-on is off."""

    issuer: str = setting(
        "LEASEFORGE_OIDC_ISSUER", default="", parse=issuer, help="the OpenID Connect provider; turns single sign-on on"
    )
    client_id: str = setting(
        "LEASEFORGE_OIDC_CLIENT_ID", default="", parse=short_text(255), help="what the provider calls this server"
    )
    client_secret: str = setting(
        "LEASEFORGE_OIDC_CLIENT_SECRET",
        default="",
        parse=short_text(1024),
        secret=True,
        help="given by the provider; none for a public client",
    )
    redirect_url: str = setting(
        "LEASEFORGE_OIDC_REDIRECT_URL",
        default="",
        parse=redirect_url,
        help="where the provider sends people back to",
    )
    provider_name: str = setting(
        "LEASEFORGE_OIDC_PROVIDER_NAME", default="", parse=short_name, help='the word in "Continue with ..."'
    )
    scopes: str = setting(
        "LEASEFORGE_OIDC_SCOPES", default="openid email profile", parse=scopes, help="what the provider is asked for"
    )
    admin_emails: tuple[str, ...] = setting(
        "LEASEFORGE_OIDC_ADMIN_EMAILS", default=(), parse=emails, help="whole addresses of administrators"
    )
    operator_emails: tuple[str, ...] = setting(
        "LEASEFORGE_OIDC_OPERATOR_EMAILS", default=(), parse=emails, help="whole addresses of operators"
    )
    admin_groups: tuple[str, ...] = setting(
        "LEASEFORGE_OIDC_ADMIN_GROUPS", default=(), parse=entries, help="groups whose members are administrators"
    )
    operator_groups: tuple[str, ...] = setting(
        "LEASEFORGE_OIDC_OPERATOR_GROUPS", default=(), parse=entries, help="groups whose members are operators"
    )
    groups_claim: str = setting(
        "LEASEFORGE_OIDC_GROUPS_CLAIM",
        default="groups",
        parse=short_text(200),
        help="the claim that holds groups; dots lead into nested ones",
    )
    default_roles: tuple[Role, ...] = setting(
        "LEASEFORGE_OIDC_DEFAULT_ROLE",
        default=(),
        parse=default_role,
        help="the role of everybody else; none keeps them out",
    )
    allowed_origins: tuple[str, ...] = setting(
        "LEASEFORGE_OIDC_ALLOWED_ORIGINS",
        default=(),
        parse=origins,
        help="origins of other programs that may be returned to with a one-time code",
    )
    trust_email: bool = setting(
        "LEASEFORGE_OIDC_TRUST_EMAIL",
        default=False,
        parse=flag,
        help="take e-mail addresses the provider does not call verified",
    )
    allowed_hosts: tuple[str, ...] = setting(
        "LEASEFORGE_OIDC_ALLOWED_HOSTS",
        default=(),
        parse=hosts,
        help="hosts of the provider, beside the issuer's, that may have private addresses",
    )
    end_session: bool = setting(
        "LEASEFORGE_OIDC_END_SESSION",
        default=False,
        parse=flag,
        help="logging out of the console leads to the provider's logout, too",
    )

    def __post_init__(self) -> None:
        """Combines what several settings say together. Raises SettingsError."""
        if self.issuer:
            if not self.client_id:
                raise SettingsError([FieldProblem("LEASEFORGE_OIDC_CLIENT_ID", "is required with an issuer")])
            return
        changed = [f for f in fields(self) if getattr(self, f.name) != f.default]
        if changed:
            words = "means nothing without LEASEFORGE_OIDC_ISSUER"
            raise SettingsError([FieldProblem(f.metadata["setting"].env, words) for f in changed])

    @property
    def is_on(self) -> bool:
        """Whether people can log in at a provider."""
        return bool(self.issuer)

    @property
    def provider(self) -> str:
        """What people know the provider by."""
        return self.provider_name or urlsplit(self.issuer).hostname or ""

    def completed(self, *, web_url: str, root_path: str) -> "OidcSettings":
        """With what follows from the public address of the console. Raises SettingsError."""
        if not self.is_on:
            return self
        variable, origin = "LEASEFORGE_OIDC_REDIRECT_URL", _origin_of(web_url) if web_url else ""
        found = self.redirect_url or (f"{origin}{root_path}{CALLBACK_PATH}" if origin else "")
        if not found:
            raise SettingsError([FieldProblem(variable, "is required with an issuer, or LEASEFORGE_WEB_URL")])
        if urlsplit(found).path != root_path + CALLBACK_PATH:
            words = f"must have the path {root_path}{CALLBACK_PATH} (LEASEFORGE_ROOT_PATH)"
            raise SettingsError([FieldProblem(variable, words)])
        if not origin and found.startswith("https:"):
            words = "must be set with an https redirect address: cookies are made for it"
            raise SettingsError([FieldProblem("LEASEFORGE_WEB_URL", words)])
        if origin and _origin_of(found) != origin:
            words = f"must begin with {origin}, as LEASEFORGE_WEB_URL: the session would be another site's"
            raise SettingsError([FieldProblem(variable, words)])
        allowed = dict.fromkeys((*self.allowed_origins, *([origin] if origin else [])))
        return replace(self, redirect_url=found, allowed_origins=tuple(allowed))


def _check_scheme(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.netloc)):
        return
    raise ValueError("must be https: plain http is for a loopback address only")


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if not parts.hostname or parts.path not in ("", "/") or parts.query or parts.fragment or parts.username:
        raise ValueError("must be origins such as https://app.example.com, separated by commas")
    _check_scheme(text)
    return _origin_of(text)


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
