"""What is kept of a provider, when it is asked again, and what is told when it does not fit."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from leaseforge.settings import read
from leaseforge_auth.oidc.errors import SsoError, SsoMisconfigured, SsoUnavailable
from leaseforge_auth.oidc.fetching import Fetcher
from leaseforge_auth.oidc.provider import FRESH_S, NEW_KEYS_S, RETRY_S, STALE_S, Provider
from leaseforge_auth.oidc.settings import OidcSettings
from tests.sso.providers.fake import ED, OTHER_RSA, FakeProvider, jwk

DISCOVERY = "/.well-known/openid-configuration"


class Clock:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def provider(fake: FakeProvider, clock: Clock) -> AsyncIterator[Provider]:
    environ = {"ISSUER": fake.issuer, "CLIENT_ID": "leaseforge", "CLIENT_SECRET": "x"}
    settings = read(OidcSettings, {f"LEASEFORGE_OIDC_{name}": value for name, value in environ.items()})
    fetcher = Fetcher(["127.0.0.1"])
    yield Provider(settings, fetcher, clock=clock)
    await fetcher.aclose()


async def test_many_who_come_at_once_ask_once(provider: Provider, fake: FakeProvider) -> None:
    found = await asyncio.gather(*(provider.metadata() for _ in range(20)))

    assert len({id(metadata) for metadata in found}) == 1
    assert fake.asked[DISCOVERY] == 1


async def test_the_description_is_asked_for_again_after_an_hour(
    provider: Provider, fake: FakeProvider, clock: Clock
) -> None:
    await provider.metadata()
    fake.metadata["token_endpoint"] = f"{fake.issuer}/new"
    clock.now += FRESH_S - 1
    assert (await provider.metadata()).token_endpoint == f"{fake.issuer}/token"
    clock.now += 2

    assert (await provider.metadata()).token_endpoint == f"{fake.issuer}/new"


async def test_while_the_provider_is_away_what_is_known_stays_in_use_for_a_day(
    provider: Provider, fake: FakeProvider, clock: Clock
) -> None:
    await provider.key(kid="rsa", algorithm="RS256")
    fake.statuses |= {DISCOVERY: 503, "/keys": 503}
    clock.now += STALE_S - 1
    assert await provider.key(kid="rsa", algorithm="RS256") is not None
    clock.now += 2

    with pytest.raises(SsoUnavailable):
        await provider.key(kid="rsa", algorithm="RS256")


async def test_a_new_key_is_found_and_made_up_names_do_not_storm_the_provider(
    provider: Provider, fake: FakeProvider, clock: Clock
) -> None:
    assert await provider.key(kid="new", algorithm="RS256") is None
    for number in range(50):
        assert await provider.key(kid=f"made up {number}", algorithm="RS256") is None
    assert fake.asked["/keys"] == 1
    fake.keys.append(jwk(OTHER_RSA, "new"))
    clock.now += NEW_KEYS_S

    assert await provider.key(kid="new", algorithm="RS256") is not None
    assert fake.asked["/keys"] == 2


async def test_after_a_failure_nobody_asks_for_a_moment(provider: Provider, fake: FakeProvider, clock: Clock) -> None:
    fake.statuses[DISCOVERY] = 500
    for _ in range(10):
        with pytest.raises(SsoUnavailable):
            await provider.metadata()
    assert fake.asked[DISCOVERY] == 1
    fake.statuses.clear()
    clock.now += RETRY_S

    assert (await provider.metadata()).issuer == fake.issuer


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"issuer": "https://evil.example"}, "issuer_mismatch"),
        ({"issuer": None}, "issuer_mismatch"),
        ({"issuer": "https://login.microsoftonline.com/{tenantid}/v2.0"}, "issuer_template"),
        ({"authorization_endpoint": None}, "bad_metadata"),
        ({"token_endpoint": 7}, "bad_metadata"),
        ({"jwks_uri": ""}, "bad_metadata"),
        ({"jwks_uri": "http://keys.example.com/"}, "bad_endpoint"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "bad_endpoint"),
        ({"end_session_endpoint": "javascript:alert(1)"}, "bad_endpoint"),
        ({"token_endpoint": "file:///etc/passwd"}, "bad_endpoint"),
        ({"code_challenge_methods_supported": ["plain"]}, "no_pkce"),
        ({"id_token_signing_alg_values_supported": ["none", "HS256"]}, "no_algorithm"),
        ({"token_endpoint_auth_methods_supported": ["private_key_jwt"]}, "no_client_auth"),
    ],
)
async def test_a_description_that_does_not_fit_is_told_with_its_cause(
    changed: dict[str, Any], cause: str, provider: Provider, fake: FakeProvider
) -> None:
    fake.metadata |= changed

    for _ in range(2):
        with pytest.raises(SsoMisconfigured) as refused:
            await provider.metadata()
        assert refused.value.cause == cause
    assert fake.asked[DISCOVERY] == 1


async def test_the_issuer_is_compared_letter_for_letter(provider: Provider, fake: FakeProvider) -> None:
    fake.metadata["issuer"] += "/"

    with pytest.raises(SsoMisconfigured) as refused:
        await provider.metadata()

    assert f"{fake.issuer}/" in str(refused.value)


@pytest.mark.parametrize(
    "keys",
    [
        None,
        "x",
        [None, "x", 7, {}],
        [{"kty": "RSA", "kid": "rsa"}],
        [{"kty": "RSA", "kid": "rsa", "n": "AQAB", "e": "!!"}],
        [{"kty": "OKP", "kid": "rsa", "crv": "X25519", "x": "AA"}],
        [{"kty": "oct", "kid": "rsa", "k": "AAAA"}],
        [jwk(OTHER_RSA, "rsa", use="enc")],
        [jwk(OTHER_RSA, "rsa", alg="RSA-OAEP")],
        [jwk(OTHER_RSA, "rsa", key_ops=["encrypt"])],
        [jwk(OTHER_RSA, "rsa"), jwk(OTHER_RSA, "rsa")],
    ],
)
async def test_keys_that_cannot_verify_are_left_out(keys: Any, provider: Provider, fake: FakeProvider) -> None:
    fake.keys = keys

    assert await provider.key(kid="rsa", algorithm="RS256") is None


async def test_a_key_is_good_for_its_own_algorithm_only(provider: Provider, fake: FakeProvider) -> None:
    fake.keys = [jwk(ED, "one", alg="EdDSA")]

    assert await provider.key(kid="one", algorithm="EdDSA") is not None
    assert await provider.key(kid="one", algorithm="RS256") is None
    assert await provider.key(kid="one", algorithm="HS256") is None


async def test_a_failure_is_told_again_without_growing(provider: Provider, fake: FakeProvider) -> None:
    fake.statuses[DISCOVERY] = 500
    depths = []
    for _ in range(5):
        try:
            await provider.metadata()
        except SsoError as error:
            depth, frame = 0, error.__traceback__
            while frame is not None:
                depth, frame = depth + 1, frame.tb_next
            depths.append(depth)

    assert depths[-1] <= depths[1]
