"""Accounts named by the settings, and checking passwords against them."""

from collections.abc import AsyncIterator

import pytest
import redis
from structlog.testing import capture_logs

from leaseforge import events
from leaseforge.answers import Answer
from leaseforge.store import Store
from leaseforge_auth import calls, keys
from leaseforge_auth.accounts import Accounts, DeclaredAccount
from leaseforge_auth.errors import TooManyAttempts
from leaseforge_auth.passwords import Passwords
from leaseforge_auth.roles import Role
from leaseforge_auth.throttle import LoginThrottle, Pace

HERE = "203.0.113.7"
# Waits are long, so that none ends during a test.
PACE = Pace(free_for_account=3, base_ms=600_000, cap_ms=600_000)
ADA = DeclaredAccount("ada", (Role.OPERATOR,), password="correct horse")


@pytest.fixture
async def accounts(store: Store) -> AsyncIterator[Accounts]:
    passwords = Passwords()
    yield Accounts(store, passwords=passwords, throttle=LoginThrottle(store, PACE))
    passwords.close()


async def stored(store: Store, username: str = "ada") -> calls.Account:
    account = await store.run(calls.read_account(username))
    assert account is not None
    return account


async def test_a_declared_account_can_log_in(accounts: Accounts) -> None:
    await accounts.bootstrap([ADA])

    account = await accounts.authenticate("ada", "correct horse", address=HERE)

    assert account is not None
    assert (account.username, account.roles) == ("ada", (Role.OPERATOR,))


async def test_wrong_passwords_and_unknown_names_are_refused_alike(accounts: Accounts) -> None:
    await accounts.bootstrap([ADA])

    for username in ("ada", "nobody", "not a name", ""):
        assert await accounts.authenticate(username, "wrong", address=HERE) is None


async def test_a_name_nobody_has_is_not_logged_because_people_type_their_password_there(accounts: Accounts) -> None:
    with capture_logs() as lines:
        await accounts.authenticate("my-secret-password", "x", address=HERE)

    assert [line["event"] for line in lines] == [events.LOGIN_REFUSED]
    assert "my-secret-password" not in repr(lines)


async def test_whoever_fails_too_often_has_to_wait_even_with_the_right_password(accounts: Accounts) -> None:
    await accounts.bootstrap([ADA])
    for _ in range(3):
        await accounts.authenticate("ada", "wrong", address=HERE)

    with pytest.raises(TooManyAttempts):
        await accounts.authenticate("ada", "correct horse", address=HERE)
    assert await accounts.authenticate("ada", "correct horse", address="198.51.100.1") is not None


async def test_nothing_is_changed_by_a_start_with_the_same_settings(accounts: Accounts, store: Store) -> None:
    await accounts.bootstrap([ADA])
    before = await stored(store)

    await accounts.bootstrap([ADA])

    assert await stored(store) == before


async def test_a_new_password_in_the_settings_ends_what_was_handed_out(accounts: Accounts, store: Store) -> None:
    await accounts.bootstrap([ADA])
    before = await stored(store)

    await accounts.bootstrap([DeclaredAccount("ada", (Role.OPERATOR,), password="battery staple")])

    assert (await stored(store)).epoch > before.epoch
    assert await accounts.authenticate("ada", "battery staple", address=HERE) is not None
    assert await accounts.authenticate("ada", "correct horse", address=HERE) is None


async def test_new_roles_in_the_settings_take_effect(accounts: Accounts, store: Store) -> None:
    await accounts.bootstrap([ADA])

    await accounts.bootstrap([DeclaredAccount("ada", (Role.VIEWER,), password="correct horse")])

    assert (await stored(store)).roles == (Role.VIEWER,)


async def test_an_account_that_was_changed_by_other_means_is_left_alone(
    accounts: Accounts, store: Store, redis_url: str
) -> None:
    await accounts.bootstrap([ADA])
    with redis.Redis.from_url(redis_url) as client:
        client.hset(keys.account("ada"), "origin", "people")
    before = await stored(store)

    await accounts.bootstrap([DeclaredAccount("ada", (Role.ADMIN,), password="battery staple")])

    assert await stored(store) == before
    declared = calls.declare_account("ada", password_hash="x", roles=[Role.ADMIN], replaces=before.password_hash)
    assert await store.run(declared) is Answer.CONFLICT


@pytest.mark.parametrize("origin", ["oidc", "cli", "api"])
async def test_a_name_somebody_else_has_is_told_at_each_start(
    accounts: Accounts, store: Store, origin: calls.Origin
) -> None:
    encoded = "" if origin == "oidc" else "somebody's own"
    await store.run(calls.create_account("ada", password_hash=encoded, roles=[Role.VIEWER], origin=origin))
    before = await stored(store)
    grace = DeclaredAccount("grace", (Role.VIEWER,), password="battery staple")

    with capture_logs() as lines:
        await accounts.bootstrap([ADA, grace])
        await accounts.bootstrap([ADA, grace])

    assert await stored(store) == before
    told = [line for line in lines if line["log_level"] == "warning"]
    assert [(line["event"], line["username"], line["origin"]) for line in told] == [
        (events.ACCOUNT_DECLARATION_IGNORED, "ada", origin)
    ] * 2
    assert "leaseforge users delete ada" in told[0]["advice"]
    assert "correct horse" not in repr(lines)
    assert await accounts.authenticate("ada", "correct horse", address=HERE) is None
    assert await accounts.authenticate("grace", "battery staple", address=HERE) is not None


async def test_of_two_servers_that_start_together_one_makes_the_account(store: Store) -> None:
    declare = calls.declare_account("ada", password_hash="one", roles=[Role.VIEWER])
    late = calls.declare_account("ada", password_hash="two", roles=[Role.VIEWER])

    assert await store.run(declare) is Answer.CREATED
    assert await store.run(late) is Answer.CONFLICT
    assert (await stored(store)).password_hash == "one"


async def test_a_name_that_is_used_again_after_a_deletion_gets_a_later_epoch(store: Store, redis_url: str) -> None:
    await store.run(calls.declare_account("ada", password_hash="one", roles=[]))
    first = (await stored(store)).epoch
    with redis.Redis.from_url(redis_url) as client:
        client.delete(keys.account("ada"))

    await store.run(calls.declare_account("ada", password_hash="two", roles=[]))

    assert (await stored(store)).epoch > first


async def test_a_disabled_account_cannot_log_in(accounts: Accounts, redis_url: str) -> None:
    await accounts.bootstrap([ADA])
    with redis.Redis.from_url(redis_url) as client:
        client.hset(keys.account("ada"), "disabled", "1")

    assert await accounts.authenticate("ada", "correct horse", address=HERE) is None


async def test_a_password_may_be_declared_as_its_hash(accounts: Accounts) -> None:
    passwords = Passwords()
    encoded = await passwords.hash("correct horse")
    passwords.close()

    await accounts.bootstrap([DeclaredAccount("ada", (Role.VIEWER,), password_hash=encoded)])

    assert await accounts.authenticate("ada", "correct horse", address=HERE) is not None


async def test_a_server_nobody_can_log_in_to_says_so(accounts: Accounts) -> None:
    with capture_logs() as lines:
        await accounts.bootstrap([])

    assert [(line["event"], line["log_level"]) for line in lines] == [(events.NO_ACCOUNTS, "warning")]
    for way in ("leaseforge users create", "LEASEFORGE_ADMIN_PASSWORD", "LEASEFORGE_USERS"):
        assert way in lines[0]["advice"]
