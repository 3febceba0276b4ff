"""Every key of accounts, sessions and logins. They share the hash tag of lf:{sys}, so one script may touch several."""

import hashlib

from leaseforge.keys import system_key

GUARD = system_key("guard")
ACCOUNTS = system_key("accounts")
AUDIT = system_key("audit")
"""Stream: the audit trail, an entry's id is <sequence>-0."""
AUDIT_HEAD = system_key("audit:head")
"""Hash: where the trail ends, and the anchor it begins behind."""
AUDIT_OPEN = system_key("audit:open")
"""Hash: actions that have begun and not ended -> sequence."""


def account(username: str) -> str:
    """Hash: password, roles, epoch, origin, disabled, person."""
    return system_key(f"account:{username}")


def session(session_id: str) -> str:
    """Hash: username, epoch, created_at, seen_at, address, agent."""
    return system_key(f"session:{session_digest(session_id)}")


def session_digest(session_id: str) -> str:
    """What a session is stored under: who can read Redis still cannot take it over."""
    return _digest(session_id)


def sessions_of(username: str) -> str:
    """Zset: digests of an account's sessions by the time they were opened."""
    return system_key(f"sessions:{username}")


def spent_token(jti: str) -> str:
    """String: exists while a logged-out token would still be in time."""
    return system_key(f"spent:{jti}")


API_TOKENS = system_key("tokens")
"""Zset: ids of all API tokens by the time they were made."""
SERVICES = system_key("services")
"""Hash: names of service tokens -> id."""


def api_token(token_id: str) -> str:
    """Hash: digest, name, kind, owner, roles, permissions, created_at, expires_at, last_used_at."""
    return system_key(f"token:{token_id}")


def api_tokens_of(username: str) -> str:
    """Zset: ids of the API tokens an account made, by the time they were made."""
    return system_key(f"tokens:{username}")


def views_of(username: str) -> str:
    """Hash: id -> saved view, of an account."""
    return system_key(f"views:{username}")


def attempts(*who: str) -> str:
    """Hash: failures, until. Of an account from an address, or of an address; a digest, for both are chosen freely."""
    return system_key(f"attempts:{_digest(*who)}")


def oidc_login(state: str) -> str:
    """Hash: browser, nonce, verifier, target, is_local. A login that is under way at the provider."""
    return system_key(f"oidc:login:{_digest(state)}")


def oidc_state_digest(state: str) -> str:
    """What a login is stored under: who can read Redis still cannot finish it."""
    return _digest(state)


def oidc_browser_digest(browser: str) -> str:
    """What is kept of the cookie a login is bound to."""
    return _digest("browser", browser)


def oidc_begun(address: str) -> str:
    """Zset: digests of the logins begun from an address by the time they were."""
    return system_key(f"oidc:begun:{_digest(address)}")


def oidc_code(code: str) -> str:
    """Hash: username, epoch. A login to be exchanged for a token, once."""
    return system_key(f"oidc:code:{_digest(code)}")


def person(digest: str) -> str:
    """String: the username of whom the provider knows by this issuer and subject."""
    return system_key(f"person:{digest}")


def named(**of_script: str) -> tuple[tuple[str, str], ...]:
    """Keys in the order of a script's header, the guard first."""
    return (("guard", GUARD), *of_script.items())


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
