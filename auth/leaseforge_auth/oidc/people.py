"""What the provider says of a person, and what that person may therefore do here."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leaseforge_auth.oidc.errors import SsoDenied
from leaseforge_auth.oidc.settings import OidcSettings, folded
from leaseforge_auth.roles import Role

MOST_GROUPS = 10_000
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._@+-]+", re.ASCII)
_NAME_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody the provider vouches for. Issuer and subject are who it is; everything else may change."""

    issuer: str
    subject: str
    email: str
    groups: frozenset[str]

    @property
    def digest(self) -> str:
        """What the person's account is found by."""
        return hashlib.sha256(f"{self.issuer}\0{self.subject}".encode()).hexdigest()

    @property
    def usernames(self) -> tuple[str, str]:
        """The name an account of theirs gets, and the one it gets if somebody else has that."""
        wanted = _NOT_IN_NAMES.sub("-", self.email).lstrip("._@+-")[:_NAME_CHARACTERS] or "person"
        mark = f"-{self.digest[:12]}"
        return wanted, wanted[: _NAME_CHARACTERS - len(mark)] + mark


def lacks(claims: Mapping[str, Any], settings: OidcSettings) -> bool:
    """Whether an ID token leaves open what userinfo could tell."""
    email_is_open = not claims.get("email") or ("email_verified" not in claims and not settings.trust_email)
    wants_groups = bool(settings.admin_groups or settings.operator_groups)
    return email_is_open or (wants_groups and claim_at(claims, settings.groups_claim) is None)


def together(claims: Mapping[str, Any], userinfo: Mapping[str, Any], settings: OidcSettings) -> Mapping[str, Any]:
    """The claims with what userinfo adds. Raises SsoDenied if it is about somebody else.

    Whether an address is verified is only taken from where the address itself is.
    """
    if userinfo.get("sub") != claims["sub"]:
        raise SsoDenied("userinfo_subject", "the provider told about somebody else than who logged in")
    merged = {**userinfo, **claims}
    if not claims.get("email"):
        merged |= {name: userinfo.get(name) for name in ("email", "email_verified")}
    elif "email_verified" not in claims and claims["email"] != userinfo.get("email"):
        merged.pop("email_verified", None)
    root = settings.groups_claim.partition(".")[0]
    if claim_at(claims, settings.groups_claim) is None and root in userinfo and settings.groups_claim not in userinfo:
        merged[root] = userinfo[root]
    return merged


def person_of(claims: Mapping[str, Any], settings: OidcSettings) -> Person:
    """The person of verified claims. Raises SsoDenied without an address, or with one nobody verified."""
    email = _text(claims.get("email")).strip()
    if not email or "@" not in email or len(email) > 254 or not email.isprintable():
        raise SsoDenied("no_email", "the provider tells no e-mail address of yours")
    # Some providers write the flag as a text.
    if not settings.trust_email and claims.get("email_verified") not in (True, "true"):
        raise SsoDenied("email_not_verified", f"the provider does not say that {email} is verified as yours")
    return Person(settings.issuer, claims["sub"], email, groups_at(claims, settings.groups_claim))


def roles_of(person: Person, settings: OidcSettings) -> tuple[Role, ...]:
    """Every role a list gives the person, else the default one; nothing if there is none."""
    email = folded(person.email)
    found = []
    if email in settings.admin_emails or person.groups & set(settings.admin_groups):
        found.append(Role.ADMIN)
    if email in settings.operator_emails or person.groups & set(settings.operator_groups):
        found.append(Role.OPERATOR)
    return tuple(found) or settings.default_roles


def groups_at(claims: Mapping[str, Any], path: str) -> frozenset[str]:
    """The groups a claim holds: one text is one group, a list is several, anything else is none."""
    found = claim_at(claims, path)
    if isinstance(found, str):
        return frozenset({found})
    if isinstance(found, list):
        return frozenset(group for group in found[:MOST_GROUPS] if isinstance(group, str))
    return frozenset()


def claim_at(claims: Mapping[str, Any], path: str) -> Any:
    """A claim by its name, or by names that lead into it (`realm_access.roles`); None if there is none."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for name in path.split("."):
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
