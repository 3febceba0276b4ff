"""The call that turns what the browser brought back into tokens."""

from leaseforge_auth.oidc.errors import SsoLost, SsoMisconfigured, SsoUnavailable
from leaseforge_auth.oidc.fetching import Fetcher
from leaseforge_auth.oidc.metadata import Metadata
from leaseforge_auth.oidc.requests import token_request
from leaseforge_auth.oidc.settings import OidcSettings

_OF_THE_CLIENT = ("invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope")


async def fetch_tokens(
    fetcher: Fetcher, metadata: Metadata, settings: OidcSettings, *, code: str, verifier: str
) -> tuple[object, str]:
    """ID token as it came, unchecked, and access token ('' if there is none).

    Raises SsoLost (the provider does not know the code), SsoMisconfigured (nor this server), SsoUnavailable.
    """
    body, authorization = token_request(settings, code=code, verifier=verifier, takes_basic=metadata.takes_basic)
    answer = await fetcher.post(metadata.token_endpoint, body, authorization=authorization)
    if answer.status == 200:
        access_token = answer.document.get("access_token")
        return answer.document.get("id_token"), access_token if isinstance(access_token, str) else ""
    said = answer.document.get("error")
    if answer.status == 401 or said in _OF_THE_CLIENT:
        words = "the provider does not take LEASEFORGE_OIDC_CLIENT_ID with its secret"
        raise SsoMisconfigured("client_refused", words)
    if answer.status >= 500 or answer.status == 429:
        raise SsoUnavailable("provider_answer", f"the provider answers {answer.status} where it should give tokens")
    raise SsoLost("code_refused", "the provider does not take back what it gave the browser: it is used or too old")
