"""What a provider says of itself, judged before any of it is used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leaseforge_auth.oidc.errors import SsoMisconfigured
from leaseforge_auth.oidc.fetching import check_url

ALGORITHMS = ("RS256", "ES256", "EdDSA")
"""Signatures that are taken. All are by a key only the provider has: no secret we share could forge one."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The part of the discovery document that a login needs. Endpoints are https, or http on this machine."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str
    end_session_endpoint: str
    algorithms: tuple[str, ...]
    takes_basic: bool
    """Whether the client shows its secret in the Authorization header; else in the form."""
    names_issuer: bool
    """Whether the way back names the issuer (RFC 9207)."""


def read_metadata(document: Mapping[str, Any], *, issuer: str, has_secret: bool) -> Metadata:
    """The document of this issuer. Raises SsoMisconfigured."""
    _check_issuer(document.get("issuer"), issuer)
    methods = _words(document, "code_challenge_methods_supported", ("S256",))
    if "S256" not in methods:
        raise SsoMisconfigured("no_pkce", "the provider does not support PKCE with S256")
    algorithms = tuple(
        word for word in _words(document, "id_token_signing_alg_values_supported", ("RS256",)) if word in ALGORITHMS
    )
    if not algorithms:
        words = f"the provider signs in none of the ways that are taken: {', '.join(ALGORITHMS)}"
        raise SsoMisconfigured("no_algorithm", words)
    ways = _words(document, "token_endpoint_auth_methods_supported", ("client_secret_basic",))
    if has_secret and not {"client_secret_basic", "client_secret_post"} & set(ways):
        raise SsoMisconfigured("no_client_auth", "the provider does not take a client secret")
    return Metadata(
        issuer=issuer,
        authorization_endpoint=_endpoint(document, "authorization_endpoint"),
        token_endpoint=_endpoint(document, "token_endpoint"),
        jwks_uri=_endpoint(document, "jwks_uri"),
        userinfo_endpoint=_endpoint(document, "userinfo_endpoint", is_needed=False),
        end_session_endpoint=_endpoint(document, "end_session_endpoint", is_needed=False),
        algorithms=algorithms,
        takes_basic="client_secret_basic" in ways,
        names_issuer=document.get("authorization_response_iss_parameter_supported") is True,
    )


def _check_issuer(named: Any, issuer: str) -> None:
    if named == issuer:
        return
    if isinstance(named, str) and "{" in named:
        words = (
            "the provider's issuer is a template for many tenants: anybody's account would fit. "
            "Set LEASEFORGE_OIDC_ISSUER to the issuer of your own tenant"
        )
        raise SsoMisconfigured("issuer_template", words)
    shown = named if isinstance(named, str) and len(named) <= 200 and named.isprintable() else "something else"
    raise SsoMisconfigured(
        "issuer_mismatch",
        f"the provider calls itself {shown}, LEASEFORGE_OIDC_ISSUER says {issuer}: "
        "they must be the same letter for letter, a slash at the end included",
    )


def _endpoint(document: Mapping[str, Any], name: str, *, is_needed: bool = True) -> str:
    value = document.get(name)
    if value is None and not is_needed:
        return ""
    if not isinstance(value, str) or not value:
        raise SsoMisconfigured("bad_metadata", f"the provider's description has no {name}")
    check_url(value)
    return value


def _words(document: Mapping[str, Any], name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    value = document.get(name)
    if value is None:
        return default
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()
