"""The login throttle: a backoff for whoever fails, no lockout for anybody else."""

import asyncio

import pytest

from leaseforge.store import Store
from leaseforge_auth.errors import TooManyAttempts
from leaseforge_auth.throttle import LoginThrottle, Pace

HERE, THERE = "203.0.113.7", "198.51.100.1"
# Waits are long, so that none ends during a test.
PACE = Pace(free_for_account=3, free_for_address=5, base_ms=600_000, cap_ms=3_600_000)


@pytest.fixture
def throttle(store: Store) -> LoginThrottle:
    return LoginThrottle(store, PACE)


async def fail(throttle: LoginThrottle, times: int, username: str = "ada", address: str = HERE) -> None:
    for _ in range(times):
        await throttle.charge(username, address)


async def test_some_failures_are_free_and_then_one_has_to_wait(throttle: LoginThrottle) -> None:
    await fail(throttle, 3)

    with pytest.raises(TooManyAttempts) as refused:
        await throttle.charge("ada", HERE)

    assert 590 < refused.value.retry_after_s <= 600


async def test_the_wait_doubles_with_every_further_failure(store: Store) -> None:
    def throttle(base_ms: int) -> LoginThrottle:
        return LoginThrottle(store, Pace(free_for_account=2, base_ms=base_ms, cap_ms=36_000_000))

    await fail(throttle(0), 3)
    await fail(throttle(600_000), 1)

    with pytest.raises(TooManyAttempts) as refused:
        await throttle(600_000).charge("ada", HERE)
    assert 2_390 < refused.value.retry_after_s <= 2_400


async def test_the_cap_holds_however_long_somebody_goes_on(store: Store) -> None:
    await fail(LoginThrottle(store, Pace(free_for_account=0, free_for_address=1_000, base_ms=0)), 40)
    capped = LoginThrottle(store, Pace(free_for_account=0, free_for_address=1_000, base_ms=600_000, cap_ms=1_200_000))
    await fail(capped, 1)

    with pytest.raises(TooManyAttempts) as refused:
        await capped.charge("ada", HERE)

    assert refused.value.retry_after_s <= 1_200


async def test_attempts_sent_at_the_same_time_count_too(throttle: LoginThrottle) -> None:
    answers = await asyncio.gather(*(throttle.charge("ada", HERE) for _ in range(20)), return_exceptions=True)

    assert sum(answer is None for answer in answers) == 3


async def test_the_account_stays_open_from_elsewhere(throttle: LoginThrottle) -> None:
    await fail(throttle, 3)

    await throttle.charge("ada", THERE)


async def test_one_address_cannot_try_many_accounts(throttle: LoginThrottle) -> None:
    for number in range(5):
        await throttle.charge(f"user{number}", HERE)

    with pytest.raises(TooManyAttempts):
        await throttle.charge("yet another", HERE)


async def test_a_right_password_forgets_the_failures_of_the_account(throttle: LoginThrottle) -> None:
    await fail(throttle, 3)
    await throttle.succeeded("ada", HERE)

    await fail(throttle, 2)


async def test_an_account_of_ones_own_does_not_pay_for_guessing_others(throttle: LoginThrottle) -> None:
    async def guess_with_a_login_in_between(victim: str) -> None:
        await throttle.charge("my own", HERE)
        await throttle.succeeded("my own", HERE)
        await throttle.charge(victim, HERE)

    for number in range(4):
        await guess_with_a_login_in_between(f"victim {number}")
    await throttle.charge("victim 4", HERE)

    with pytest.raises(TooManyAttempts):
        await guess_with_a_login_in_between("victim 5")


async def test_any_text_will_do_as_a_name(throttle: LoginThrottle) -> None:
    for name in ("", "a b", "é\n", "\ud800", "x" * 10_000):
        await throttle.charge(name, HERE)
