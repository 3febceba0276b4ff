"""The optional token of /metrics, of servers and workers alike."""

import hmac

MIN_CHARACTERS = 16


def metrics_token(text: str) -> str:
    """Checks the token that scrapers must send: visible ASCII, at least 16 characters, so that nobody guesses it."""
    token = text.strip()
    if len(token) < MIN_CHARACTERS or not all("!" <= character <= "~" for character in token):
        raise ValueError(f"must be at least {MIN_CHARACTERS} visible ASCII characters, without spaces")
    return token


def is_bearer(authorization: str | None, token: str) -> bool:
    """Whether an Authorization header carries this token."""
    scheme, _, shown = (authorization or "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(shown.strip().encode("utf-8", "replace"), token.encode())
