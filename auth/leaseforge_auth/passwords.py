"""Password hashing: argon2id in a small pool of its own, so that a storm of logins cannot stop everything else."""

import asyncio
import base64
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher, Type, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION

from leaseforge_auth.errors import TooBusy

MAX_PASSWORD_BYTES = 1024
MIN_PASSWORD_CHARACTERS = 8
# 64 MiB and three passes (RFC 9106's setting for machines without gigabytes to spare), one lane: two checks at a
# time then cost two cores, not eight.
TIME_COST = 3
MEMORY_COST_KIB = 64 * 1024
PARALLELISM = 1
SALT_BYTES = 16
HASH_BYTES = 32
THREADS = 2
MAX_WAITING = 16

Result = TypeVar("Result")


class Passwords:
    """Hashes and checks passwords, two at a time; with too many waiting it refuses at once (TooBusy)."""

    def __init__(self, *, threads: int = THREADS, max_waiting: int = MAX_WAITING) -> None:
        self._hasher = PasswordHasher(
            time_cost=TIME_COST,
            memory_cost=MEMORY_COST_KIB,
            parallelism=PARALLELISM,
            hash_len=HASH_BYTES,
            salt_len=SALT_BYTES,
        )
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="passwords")
        self._limit = threads + max_waiting
        self._under_way = 0
        self._nobody = _hash_nobody_has()

    async def hash(self, password: str) -> str:
        """The encoded argon2id hash to store for this password."""
        return await self._run(lambda: self._hasher.hash(_as_bytes(password)))

    async def verify(self, encoded: str | None, password: str) -> bool:
        """Whether the password belongs to this hash. None, for an account that is not there, costs the same time."""
        secret = _as_bytes(password)
        if len(secret) > MAX_PASSWORD_BYTES:
            return False
        return await self._run(lambda: self._matches(encoded or self._nobody, secret)) and encoded is not None

    def close(self) -> None:
        """Let go of the threads; checks under way end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _matches(self, encoded: str, password: bytes) -> bool:
        try:
            return self._hasher.verify(encoded, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _run(self, work: Callable[[], Result]) -> Result:
        if self._under_way >= self._limit:
            raise TooBusy
        self._under_way += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        # Counted until the thread is done with it, not until the caller goes away: a cancelled request still burns.
        future.add_done_callback(lambda _: self._finished())
        return await asyncio.shield(future)

    def _finished(self) -> None:
        self._under_way -= 1


def length_problem(password: str) -> str | None:
    """What is wrong with a password's length, None if nothing is."""
    if len(password) >= MIN_PASSWORD_CHARACTERS and len(_as_bytes(password)) <= MAX_PASSWORD_BYTES:
        return None
    return f"must be {MIN_PASSWORD_CHARACTERS} characters to {MAX_PASSWORD_BYTES:,} bytes long"


def is_encoded_hash(text: str) -> bool:
    """Whether the text is an argon2id hash that passwords can be checked against."""
    try:
        return extract_parameters(text).type is Type.ID
    except InvalidHashError:
        return False


def _as_bytes(password: str) -> bytes:
    """What is hashed; half a surrogate pair in a JSON string must be a wrong password and not a crash."""
    return password.encode("utf-8", "surrogatepass")


def _hash_nobody_has() -> str:
    """A well-formed hash of no known password, with our own cost: checking against it takes as long as a real check."""
    salt, digest = (
        base64.b64encode(secrets.token_bytes(size)).rstrip(b"=").decode() for size in (SALT_BYTES, HASH_BYTES)
    )
    cost = f"m={MEMORY_COST_KIB},t={TIME_COST},p={PARALLELISM}"
    return f"$argon2id$v={ARGON2_VERSION}${cost}${salt}${digest}"
