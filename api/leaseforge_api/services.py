"""What the server is made of: accounts, tokens and sessions on one store."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from leaseforge.store import Store
from leaseforge_api.settings import ServerSettings
from leaseforge_auth.access import AccessTokens
from leaseforge_auth.accounts import Accounts
from leaseforge_auth.api_tokens import ApiTokens
from leaseforge_auth.audit.chain import Chain
from leaseforge_auth.audit.trail import AuditTrail
from leaseforge_auth.cookies import session_cookie
from leaseforge_auth.middleware import Authenticate
from leaseforge_auth.oidc.browser import browser_cookie
from leaseforge_auth.oidc.fetching import Fetcher
from leaseforge_auth.oidc.provider import Provider
from leaseforge_auth.oidc.sso import SingleSignOn
from leaseforge_auth.passwords import Passwords
from leaseforge_auth.sessions import Sessions
from leaseforge_auth.throttle import LoginThrottle
from leaseforge_auth.tokens import TokenKeys
from leaseforge_auth.users import Users


@dataclass(frozen=True, slots=True)
class Services:
    """Built once a server, handed to routes by name."""

    store: Store
    passwords: Passwords
    users: Users
    accounts: Accounts
    tokens: AccessTokens
    api_tokens: ApiTokens
    sessions: Sessions
    authenticate: Authenticate
    sso: SingleSignOn
    fetcher: Fetcher


def build_services(settings: ServerSettings, store: Store, *, is_alone: Callable[[], bool]) -> Services:
    """The services of one server. Opens no connection yet.

    `is_alone` says whether the request that asks is the only one this server is answering.
    """
    auth = settings.auth
    passwords = Passwords()
    tokens = AccessTokens(store, keys=TokenKeys(auth.auth_secret), ttl_s=int(auth.auth_ttl_s), is_alone=is_alone)
    absolute_s = int(auth.session_absolute_s)
    cookie = session_cookie(is_secure=auth.is_https, root_path=auth.root_path, max_age_s=absolute_s)
    sessions = Sessions(store, cookie=cookie, idle_s=int(auth.session_idle_s), absolute_s=absolute_s)
    api_tokens = ApiTokens(store, is_alone=is_alone)
    throttle = LoginThrottle(store)
    fetcher = Fetcher((urlsplit(settings.oidc.issuer).hostname or "", *settings.oidc.allowed_hosts))
    return Services(
        store=store,
        passwords=passwords,
        users=Users(store, passwords),
        accounts=Accounts(
            store,
            passwords=passwords,
            throttle=throttle,
            password_for=None if auth.password_login else auth.break_glass,
        ),
        tokens=tokens,
        api_tokens=api_tokens,
        sessions=sessions,
        authenticate=Authenticate(
            tokens=tokens,
            api_tokens=api_tokens,
            sessions=sessions,
            trail=AuditTrail(store, Chain(auth.auth_secret), keep=auth.audit_keep),
            web_url=auth.web_url,
            trusted_proxies=auth.trusted_proxies,
        ),
        sso=SingleSignOn(
            store,
            settings.oidc,
            provider=Provider(settings.oidc, fetcher),
            cookie=browser_cookie(is_secure=auth.is_https, root_path=auth.root_path),
            throttle=throttle,
            root_path=auth.root_path,
        ),
        fetcher=fetcher,
    )
