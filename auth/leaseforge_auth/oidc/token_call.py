"""The call that turns what the browser brought back into tokens."""

import base64
from urllib.parse import quote_plus, urlencode

from leaseforge_auth.oidc.errors import SsoLost, SsoMisconfigured, SsoUnavailable
from leaseforge_auth.oidc.fetching import Fetcher
from leaseforge_auth.oidc.metadata import Metadata
from leaseforge_auth.oidc.settings import OidcSettings

_OF_THE_CLIENT = ("invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope")


async def fetch_tokens(
    fetcher: Fetcher, metadata: Metadata, settings: OidcSettings, *, code: str, verifier: str
) -> tuple[object, str]:
    """ID token as it came, unchecked, and access token ('' if there is none).

    Raises SsoLost (the provider does not know the code), SsoMisconfigured (nor this server), SsoUnavailable.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": settings.redirect_url,
        "code_verifier": verifier,
    }
    authorization = ""
    if settings.client_secret and metadata.takes_basic:
        pair = f"{quote_plus(settings.client_id)}:{quote_plus(settings.client_secret)}"
        authorization = "Basic " + base64.b64encode(pair.encode()).decode()
    else:
        form["client_id"] = settings.client_id
        if settings.client_secret:
            form["client_secret"] = settings.client_secret
    answer = await fetcher.post(metadata.token_endpoint, urlencode(form).encode(), authorization=authorization)
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
