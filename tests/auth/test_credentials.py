"""Sessions and tokens against the account behind them: what ends them, and when."""

import time

import pytest
import redis

from leaseforge.store import Store
from leaseforge_auth import calls, csrf, keys
from leaseforge_auth.access import AccessTokens
from leaseforge_auth.cookies import session_cookie
from leaseforge_auth.errors import NotAuthenticated
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role
from leaseforge_auth.sessions import Sessions
from leaseforge_auth.tokens import TokenKeys

COOKIE = session_cookie(is_secure=False, root_path="", max_age_s=3600)


@pytest.fixture
def sessions(store: Store) -> Sessions:
    return Sessions(store, cookie=COOKIE, idle_s=600, absolute_s=3600)


@pytest.fixture
def tokens(store: Store) -> AccessTokens:
    return AccessTokens(store, keys=TokenKeys(["0123456789abcdef0123456789abcdef"]), ttl_s=3600)


@pytest.fixture
async def ada(store: Store) -> calls.Account:
    return await declare(store, Role.OPERATOR)


async def declare(store: Store, *roles: Role, replaces: str = "", password_hash: str = "one") -> calls.Account:
    await store.run(calls.declare_account("ada", password_hash=password_hash, roles=roles, replaces=replaces))
    account = await store.run(calls.read_account("ada"))
    assert account is not None
    return account


def disable(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.hset(keys.account("ada"), "disabled", "1")


def delete(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.delete(keys.account("ada"))


async def test_a_session_knows_its_user_and_what_the_roles_allow(sessions: Sessions, ada: calls.Account) -> None:
    opened = await sessions.create(ada)
    assert opened is not None

    identity = await sessions.read(opened.id)

    assert identity is not None
    assert (identity.username, identity.kind, identity.roles) == ("ada", "session", (Role.OPERATOR,))
    assert identity.can("queues:write")
    assert not identity.can(Permission.USERS_WRITE)
    assert identity.csrf_token == opened.csrf_token == csrf.token_for(opened.id)


async def test_an_id_somebody_chose_is_never_a_session(sessions: Sessions, ada: calls.Account) -> None:
    opened = await sessions.create(ada)
    assert opened is not None

    for chosen in ("", "x", "x" * len(opened.id), opened.id[:-1], opened.id + "x"):
        assert await sessions.read(chosen) is None


async def test_each_login_gets_an_id_of_its_own(sessions: Sessions, ada: calls.Account) -> None:
    first, second = await sessions.create(ada), await sessions.create(ada)

    assert first is not None
    assert second is not None
    assert first.id != second.id


async def test_the_id_itself_is_not_stored(sessions: Sessions, ada: calls.Account, redis_url: str) -> None:
    opened = await sessions.create(ada)
    assert opened is not None

    with redis.Redis.from_url(redis_url) as client:
        stored = [(key, client.dump(key)) for key in client.scan_iter("*")]

    assert len([key for key, _ in stored if b":session" in key]) == 2
    assert opened.id not in repr(stored)


async def test_a_session_that_was_ended_stays_ended(sessions: Sessions, ada: calls.Account) -> None:
    opened = await sessions.create(ada)
    assert opened is not None

    await sessions.destroy(opened.id)

    assert await sessions.read(opened.id) is None
    await sessions.destroy(opened.id)


async def test_a_session_is_not_opened_for_an_account_that_changed_since_its_password_was_checked(
    sessions: Sessions, store: Store, ada: calls.Account
) -> None:
    await declare(store, Role.OPERATOR, replaces="one", password_hash="two")

    assert await sessions.create(ada) is None


async def test_a_session_ends_some_time_after_login_however_busy_it_is(
    sessions: Sessions, ada: calls.Account, redis_url: str
) -> None:
    opened = await sessions.create(ada)
    assert opened is not None
    with redis.Redis.from_url(redis_url) as client:
        client.hincrby(keys.session(opened.id), "created_at", -3_600_001)

    assert await sessions.read(opened.id) is None


async def test_use_keeps_a_session_alive_and_polling_does_not(
    sessions: Sessions, ada: calls.Account, redis_url: str
) -> None:
    opened = await sessions.create(ada)
    assert opened is not None
    with redis.Redis.from_url(redis_url) as client:
        client.pexpire(keys.session(opened.id), 300_000)

        await sessions.read(opened.id, extend=False)
        assert client.pttl(keys.session(opened.id)) <= 300_000

        await sessions.read(opened.id)
        assert 300_000 < client.pttl(keys.session(opened.id)) <= 600_000


async def test_use_does_not_keep_a_session_beyond_its_absolute_end(
    sessions: Sessions, ada: calls.Account, redis_url: str
) -> None:
    opened = await sessions.create(ada)
    assert opened is not None
    with redis.Redis.from_url(redis_url) as client:
        client.hincrby(keys.session(opened.id), "created_at", -3_500_000)

        await sessions.read(opened.id)

        assert client.pttl(keys.session(opened.id)) <= 100_000


@pytest.mark.parametrize("event", ["password", "roles", "disabled", "deleted"])
async def test_what_happens_to_an_account_ends_its_sessions_and_tokens_at_once(
    event: str, sessions: Sessions, tokens: AccessTokens, store: Store, ada: calls.Account, redis_url: str
) -> None:
    opened = await sessions.create(ada)
    token = tokens.issue(ada).token
    assert opened is not None
    assert (await tokens.identify(token))[0].username == "ada"

    match event:
        case "password":
            await declare(store, Role.OPERATOR, replaces="one", password_hash="two")
        case "roles":
            await declare(store, Role.VIEWER, replaces="one")
        case "disabled":
            disable(redis_url)
        case "deleted":
            delete(redis_url)

    assert await sessions.read(opened.id) is None
    with pytest.raises(NotAuthenticated):
        await tokens.identify(token)


async def test_a_token_that_was_given_up_is_worth_nothing_and_others_stay(
    tokens: AccessTokens, ada: calls.Account
) -> None:
    given_up, kept = tokens.issue(ada).token, tokens.issue(ada).token
    _, claims = await tokens.identify(given_up)

    await tokens.revoke(claims, now_s=time.time())

    with pytest.raises(NotAuthenticated):
        await tokens.identify(given_up)
    assert (await tokens.identify(kept))[0].kind == "token"


async def test_a_given_up_token_is_remembered_until_no_clock_takes_it_any_more(
    tokens: AccessTokens, ada: calls.Account, redis_url: str
) -> None:
    _, claims = await tokens.identify(tokens.issue(ada).token)

    await tokens.revoke(claims, now_s=time.time())

    with redis.Redis.from_url(redis_url) as client:
        assert client.pttl(keys.spent_token(claims.jti)) > 3600 * 1000


async def test_roles_this_version_does_not_know_allow_nothing(
    store: Store, tokens: AccessTokens, redis_url: str
) -> None:
    ada = await declare(store, Role.VIEWER)
    with redis.Redis.from_url(redis_url) as client:
        client.hset(keys.account("ada"), "roles", "root,viewer")

    identity, _ = await tokens.identify(tokens.issue(ada).token)

    assert identity.roles == (Role.VIEWER,)
