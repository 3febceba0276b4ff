"""What this server asks of the provider as its client, in the words of OAuth 2: Authlib writes them.

Nothing is sent here, and nothing that comes back is judged here.
"""

from urllib.parse import quote_plus

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.client import OAuth2Client
from authlib.oauth2.rfc6749.parameters import prepare_token_request

from leaseforge_auth.oidc.settings import OidcSettings


def authorization_url(
    settings: OidcSettings, endpoint: str, *, state: str, nonce: str, verifier: str, anew: bool
) -> str:
    """Where a login begins: the code flow with PKCE (S256). `anew` has the provider ask even whom it knows."""
    client = OAuth2Client(
        None,
        client_id=settings.client_id,
        scope=settings.scopes,
        redirect_uri=settings.redirect_url,
        code_challenge_method="S256",
    )
    asked = {"prompt": "login"} if anew else {}
    url, _ = client.create_authorization_url(endpoint, state=state, code_verifier=verifier, nonce=nonce, **asked)
    return str(url)


def token_request(settings: OidcSettings, *, code: str, verifier: str, takes_basic: bool) -> tuple[bytes, str]:
    """The body of the call that trades the code for tokens, and its Authorization header ('' for none)."""
    body = prepare_token_request(
        "authorization_code", code=code, redirect_uri=settings.redirect_url, code_verifier=verifier
    )
    if settings.client_secret and takes_basic:
        # RFC 6749 2.3.1 has both encoded like form fields before they are joined; the library leaves that to us.
        auth = ClientAuth(quote_plus(settings.client_id), quote_plus(settings.client_secret), "client_secret_basic")
    elif settings.client_secret:
        auth = ClientAuth(settings.client_id, settings.client_secret, "client_secret_post")
    else:
        auth = ClientAuth(settings.client_id, None, "none")
    headers: dict[str, str] = {}
    _, _, signed = auth.prepare("POST", "", headers, body)
    return signed.encode(), headers.get("Authorization", "")
