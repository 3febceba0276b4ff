"""Work that keeps a processor busy, in a process of its own: `leaseforge worker primes --queues numbers`.

    Client().enqueue("count_primes", {"below": 5_000_000}, queue="numbers")

Pure Python holds the interpreter's lock: in a thread of the worker such a task would slow down every other. With
`isolate=True` it runs in a child process, uses another core, and may even crash: only this job would be charged for it.
"""

from math import isqrt
from typing import Annotated

import msgspec

from leaseforge import Context, task

BLOCK = 50_000


class Range(msgspec.Struct, forbid_unknown_fields=True):
    """Count the primes below this number."""

    below: Annotated[int, msgspec.Meta(ge=0, le=100_000_000)]


class Stopped(Exception):
    """The attempt was told to end before it was done."""


@task(isolate=True, memory_mb=256, cpu_s=600, timeout_s=900, max_attempts=3)
def count_primes(ctx: Context, payload: Range) -> int:
    """Sieves block by block. Between two it says how far it is, and asks whether it is still wanted.

    A task that never asks is killed a moment after it was told to end; one that asks can tidy up.
    """
    small = _primes(isqrt(max(payload.below - 1, 0)))
    count = 0
    for start in range(2, payload.below, BLOCK):
        if ctx.cancelled:
            raise Stopped(f"stopped at {start:,}")
        count += _count(start, min(start + BLOCK, payload.below), small)
        ctx.progress(100 * min(start + BLOCK, payload.below) / payload.below, f"{count:,} primes")
    return count


def _primes(highest: int) -> list[int]:
    """All primes up to and with `highest`."""
    sieve = bytearray([1]) * (highest + 1)
    found = []
    for number in range(2, highest + 1):
        if sieve[number]:
            found.append(number)
            sieve[number * number :: number] = bytes(len(range(number * number, highest + 1, number)))
    return found


def _count(start: int, end: int, small: list[int]) -> int:
    """The primes from `start` to before `end`, given all up to the root of `end`."""
    sieve = bytearray([1]) * (end - start)
    for prime in small:
        first = max(prime * prime, -(-start // prime) * prime)
        sieve[first - start :: prime] = bytes(len(range(first, end, prime)))
    return sum(sieve)
