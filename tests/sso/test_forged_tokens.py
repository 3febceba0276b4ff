"""A provider's answers that must let nobody in: forged, foreign, old, or not what they should be."""

import hashlib
import hmac
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from leaseforge.store import Store
from tests.sso.conftest import AtFake, Serve, audited, begin
from tests.sso.providers.fake import (
    ACCESS_TOKEN,
    CLIENT_ID,
    CLIENT_SECRET,
    EC,
    ED,
    OTHER_RSA,
    RSA,
    FakeProvider,
    encoded,
    half_hash,
    jwk,
)

Forge = Callable[[FakeProvider, str], Any]


def changed(**claims: Any) -> Forge:
    """A well-signed token whose claims are wrong."""
    return lambda provider, nonce: provider.sign(provider.claims(nonce, **claims))


def shifted(**seconds: int) -> Forge:
    """A well-signed token whose times lie so many seconds from the moment it is made."""
    return lambda provider, nonce: provider.sign(
        provider.claims(nonce, **{name: int(time.time()) + shift for name, shift in seconds.items()})
    )


def unsigned(alg: str) -> Forge:
    def forge(provider: FakeProvider, nonce: str) -> str:
        return f"{encoded({'alg': alg, 'kid': 'rsa'})}.{encoded(provider.claims(nonce))}."

    return forge


def with_secret(secret: bytes, kid: str = "rsa") -> Forge:
    """Signed with something an attacker may know as if it were a shared secret."""

    def forge(provider: FakeProvider, nonce: str) -> str:
        content = f"{encoded({'alg': 'HS256', 'kid': kid})}.{encoded(provider.claims(nonce))}"
        return f"{content}.{encoded(hmac.digest(secret, content.encode(), hashlib.sha256))}"

    return forge


def tampered(provider: FakeProvider, nonce: str) -> str:
    head, _, signature = provider.sign(provider.claims(nonce)).split(".")
    return f"{head}.{encoded(provider.claims(nonce, email='admin@example.com'))}.{signature}"


def signed_header(**header: Any) -> Forge:
    return lambda provider, nonce: provider.sign(provider.claims(nonce), **header)


def with_own_key_inside(provider: FakeProvider, nonce: str) -> str:
    return provider.sign(provider.claims(nonce), key=OTHER_RSA, kid="mine", jwk=jwk(OTHER_RSA, "mine"))


def weakly(provider: FakeProvider, nonce: str) -> str:
    with warnings.catch_warnings(action="ignore"):
        return provider.sign(provider.claims(nonce), key=WEAK, kid="weak")


def json_body(body: bytes) -> Forge:
    def forge(provider: FakeProvider, nonce: str) -> str:
        content = f"{encoded({'alg': 'RS256', 'kid': 'rsa'})}.{encoded(body)}".encode()
        signature = RSAAlgorithm(RSAAlgorithm.SHA256).sign(content, RSA)
        return f"{content.decode()}.{encoded(signature)}"

    return forge


PUBLIC_PEM = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
PUBLIC_DER = RSA.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
FORGED: dict[str, tuple[Forge, str]] = {
    "no token": (lambda provider, nonce: None, "id_token_none"),
    "an empty token": (lambda provider, nonce: "", "id_token_none"),
    "a list": (lambda provider, nonce: ["x"], "id_token_none"),
    "no JWT": (lambda provider, nonce: "x.y", "id_token_form"),
    "five parts, as encrypted ones have": (lambda provider, nonce: "a.b.c.d.e", "id_token_form"),
    "a header that is no JSON": (lambda provider, nonce: f"{encoded(b'x')}.e30.e30", "id_token_form"),
    "a header that is no object": (lambda provider, nonce: f"{encoded([1])}.e30.e30", "id_token_form"),
    "very long": (lambda provider, nonce: provider.sign(provider.claims(nonce, x="x" * 40_000)), "id_token_form"),
    "alg none": (unsigned("none"), "id_token_algorithm"),
    "alg None": (unsigned("None"), "id_token_algorithm"),
    "alg missing": (
        lambda provider, nonce: f"{encoded({'kid': 'rsa'})}.{encoded(provider.claims(nonce))}.",
        "id_token_algorithm",
    ),
    "no signature": (unsigned("RS256"), "id_token_signature"),
    "HS256 with the public key (PEM)": (with_secret(PUBLIC_PEM), "id_token_algorithm"),
    "HS256 with the public key (DER)": (with_secret(PUBLIC_DER), "id_token_algorithm"),
    "HS256 with the client's secret": (with_secret(CLIENT_SECRET.encode()), "id_token_algorithm"),
    "HS256 with a published secret": (with_secret(b"published" * 4, "oct"), "id_token_algorithm"),
    "PS256, which is not taken": (
        lambda provider, nonce: provider.sign(provider.claims(nonce), alg="PS256"),
        "id_token_algorithm",
    ),
    "RS512, which is not taken": (
        lambda provider, nonce: provider.sign(provider.claims(nonce), alg="RS512"),
        "id_token_algorithm",
    ),
    "another's key under the right name": (signed_header(key=OTHER_RSA), "id_token_signature"),
    "another's key under another name": (signed_header(key=OTHER_RSA, kid="mine"), "id_token_kid"),
    "its own key inside": (with_own_key_inside, "id_token_kid"),
    "its own key elsewhere": (signed_header(key=OTHER_RSA, kid="mine", jku="http://127.0.0.1:1/keys"), "id_token_kid"),
    "no key named, and several that fit": (signed_header(kid=None), "id_token_kid"),
    "a key's name that is a number": (
        lambda provider, nonce: f"{encoded({'alg': 'RS256', 'kid': 1})}.{encoded(provider.claims(nonce))}.x",
        "id_token_kid",
    ),
    "the key of another algorithm": (signed_header(key=EC, alg="ES256", kid="rsa"), "id_token_kid"),
    "a weak key": (weakly, "id_token_kid"),
    "a key for encryption": (signed_header(key=OTHER_RSA, kid="enc"), "id_token_kid"),
    "something critical": (
        lambda provider, nonce: f"{encoded({'alg': 'RS256', 'kid': 'rsa', 'crit': ['x'], 'x': 1})}.e30.x",
        "id_token_crit",
    ),
    "a changed body": (tampered, "id_token_signature"),
    "a body that is no JSON": (json_body(b"{"), "id_token_signature"),
    "a body that is no object": (json_body(b"[]"), "id_token_form"),
    "another issuer": (changed(iss="https://evil.example"), "id_token_issuer"),
    "no issuer": (changed(iss=None), "id_token_issuer"),
    "the issuer with a slash": (
        lambda provider, nonce: provider.sign(provider.claims(nonce, iss=f"{provider.issuer}/")),
        "id_token_issuer",
    ),
    "another audience": (changed(aud="other"), "id_token_audience"),
    "another audience, though azp is ours": (changed(aud="other", azp=CLIENT_ID), "id_token_audience"),
    "no audience": (changed(aud=None), "id_token_audience"),
    "an empty audience": (changed(aud=[]), "id_token_audience"),
    "an audience that begins like ours": (changed(aud=CLIENT_ID + "x"), "id_token_audience"),
    "an audience of odd things": (changed(aud=[CLIENT_ID, {"a": 1}], azp=CLIENT_ID), "id_token_audience"),
    "several audiences without azp": (changed(aud=[CLIENT_ID, "other"]), "id_token_azp"),
    "given to another": (changed(azp="other"), "id_token_azp"),
    "expired": (shifted(exp=-40), "id_token_expired"),
    "no end": (changed(exp=None), "id_token_times"),
    "an end in words": (changed(exp="tomorrow"), "id_token_times"),
    "an end that is true": (changed(exp=True), "id_token_times"),
    "from the future": (shifted(iat=3600), "id_token_early"),
    "no beginning": (changed(iat=None), "id_token_times"),
    "not valid yet": (shifted(nbf=3600), "id_token_early"),
    "another nonce": (changed(nonce="x" * 43), "id_token_nonce"),
    "no nonce": (changed(nonce=None), "id_token_nonce"),
    "a nonce that is none": (changed(nonce=["x"]), "id_token_nonce"),
    "no subject": (changed(sub=None), "id_token_subject"),
    "an empty subject": (changed(sub=""), "id_token_subject"),
    "a subject that is a number": (changed(sub=7), "id_token_subject"),
    "a subject too long": (changed(sub="x" * 256), "id_token_subject"),
    "another access token": (changed(at_hash=half_hash("another")), "id_token_at_hash"),
    "at_hash that is none": (changed(at_hash=7), "id_token_at_hash"),
    "not verified": (changed(email_verified=False), "email_not_verified"),
}
WEAK = rsa.generate_private_key(public_exponent=65537, key_size=1024)


@pytest.fixture
async def login(serve: Serve, fake: FakeProvider) -> AtFake:
    fake.keys += [
        jwk(WEAK, "weak"),
        jwk(OTHER_RSA, "enc", use="enc"),
        jwk(rsa.generate_private_key(public_exponent=65537, key_size=2048), "rsa-2"),
        {"kty": "oct", "kid": "oct", "k": encoded(b"published" * 4)},
    ]
    site = await serve(fake, ADMIN_EMAILS="ada@example.com,admin@example.com")
    return await begin(site, fake)


@pytest.mark.parametrize("name", FORGED)
async def test_a_forged_answer_lets_nobody_in(name: str, login: AtFake, store: Store) -> None:
    forge, cause = FORGED[name]
    login.provider.answer_with(forge(login.provider, login.asked["nonce"]))

    answer = await login.come_back()

    assert answer.status_code == 403, answer.text
    assert answer.json()["type"] == "urn:leaseforge:problem:sso-denied"
    assert "set-cookie" not in answer.headers
    assert "Traceback" not in answer.text
    page = await login.browser.client.get("/console")
    assert page.status_code == 303
    [entry] = await audited(store)
    assert entry.detail["cause"] == cause
    assert entry.result == "refused"


def signed(key: Any, alg: str, kid: str | None) -> Forge:
    return lambda provider, nonce: provider.sign(provider.claims(nonce), key=key, alg=alg, kid=kid)


GOOD: dict[str, Forge] = {
    "RS256": signed(RSA, "RS256", "rsa"),
    "ES256": signed(EC, "ES256", "ec"),
    "EdDSA": signed(ED, "EdDSA", "ed"),
    "the only key of its kind, unnamed": signed(ED, "EdDSA", None),
    "several audiences with azp": changed(aud=[CLIENT_ID, "other"], azp=CLIENT_ID),
    "a list of one audience": changed(aud=[CLIENT_ID]),
    "clocks that differ by less than half a minute": shifted(iat=20, exp=-5),
    "the access token's hash": changed(at_hash=half_hash(ACCESS_TOKEN)),
    "the access token's hash with Ed25519": lambda provider, nonce: provider.sign(
        provider.claims(nonce, at_hash=half_hash(ACCESS_TOKEN, "sha512")), key=ED, alg="EdDSA", kid="ed"
    ),
}


@pytest.mark.parametrize("name", GOOD)
async def test_what_is_in_order_lets_people_in(name: str, login: AtFake) -> None:
    login.provider.answer_with(GOOD[name](login.provider, login.asked["nonce"]))

    answer = await login.come_back()

    assert answer.status_code == 303, answer.text
    assert answer.headers["location"] == "/console"
    assert (await login.browser.client.get("/console")).status_code == 200


def test_there_are_enough_forgeries() -> None:
    assert len(FORGED) >= 25
