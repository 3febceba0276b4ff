"""Password checks: right, wrong, nobody's, too long, and too many at once."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from argon2 import extract_parameters

from leaseforge_auth.errors import TooBusy
from leaseforge_auth.passwords import MAX_PASSWORD_BYTES, Passwords, is_encoded_hash


@pytest.fixture
async def passwords() -> AsyncIterator[Passwords]:
    made = Passwords()
    yield made
    made.close()


async def test_only_the_password_itself_fits_its_hash(passwords: Passwords) -> None:
    encoded = await passwords.hash("correct horse")

    assert await passwords.verify(encoded, "correct horse")
    assert not await passwords.verify(encoded, "correct horse ")


async def test_a_check_for_nobody_does_the_same_work_and_fails(passwords: Passwords) -> None:
    encoded = await passwords.hash("correct horse")

    assert not await passwords.verify(None, "correct horse")
    assert extract_parameters(passwords._nobody) == extract_parameters(encoded)


async def test_passwords_beyond_the_limit_are_wrong_without_being_hashed(passwords: Passwords) -> None:
    encoded = await passwords.hash("x" * MAX_PASSWORD_BYTES)

    assert await passwords.verify(encoded, "x" * MAX_PASSWORD_BYTES)
    assert not await passwords.verify(encoded, "x" * (MAX_PASSWORD_BYTES + 1))


async def test_a_stored_hash_that_cannot_be_read_fits_nothing(passwords: Passwords) -> None:
    assert not await passwords.verify("plain text", "plain text")


async def test_half_a_surrogate_pair_is_a_wrong_password_and_no_crash(passwords: Passwords) -> None:
    assert not await passwords.verify(await passwords.hash("correct horse"), "\ud800")


async def test_too_many_checks_at_once_are_refused_and_the_pool_recovers() -> None:
    passwords = Passwords(threads=1, max_waiting=1)

    answers = await asyncio.gather(*(passwords.verify(None, "x") for _ in range(5)), return_exceptions=True)

    assert sum(isinstance(answer, TooBusy) for answer in answers) == 3
    assert await passwords.verify(None, "x") is False
    passwords.close()


async def test_a_caller_that_goes_away_still_counts_until_its_check_is_done() -> None:
    passwords = Passwords(threads=1, max_waiting=0)
    impatient = asyncio.create_task(passwords.verify(None, "x"))
    await asyncio.sleep(0)
    impatient.cancel()

    with pytest.raises(TooBusy):
        await passwords.verify(None, "x")

    with pytest.raises(asyncio.CancelledError):
        await impatient
    passwords.close()


def test_only_argon2id_hashes_are_taken_from_settings() -> None:
    assert is_encoded_hash(
        "$argon2id$v=19$m=65536,t=3,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g"
    )
    assert not is_encoded_hash("$argon2i$v=19$m=65536,t=3,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaA")
    assert not is_encoded_hash("correct horse")
