"""How long a job waits before it is tried again."""

import random
from collections.abc import Callable

from leaseforge.jobs import Backoff

_MAX_DOUBLINGS = 62
"""More would only cost arithmetic: every cap is reached long before."""


def ceiling_ms(kind: Backoff, *, base_ms: int, cap_ms: int, failures: int) -> int:
    """The longest pause after the `failures`-th failure (from 1), before jitter.

    Fixed: always the base. Exponential: the base, doubled with each further failure. Never above the cap.
    """
    if kind is Backoff.FIXED:
        return min(base_ms, cap_ms)
    return min(base_ms << min(max(failures - 1, 0), _MAX_DOUBLINGS), cap_ms)


def delay_ms(
    kind: Backoff, *, base_ms: int, cap_ms: int, failures: int, draw: Callable[[], float] = random.random
) -> int:
    """The pause in ms before the next attempt, after the `failures`-th failure (from 1).

    A fixed backoff waits its base exactly. An exponential one waits anything from 1 ms up to its
    ceiling (full jitter), so that jobs that failed together do not come back together. `draw`
    gives a number in [0, 1).
    """
    ceiling = ceiling_ms(kind, base_ms=base_ms, cap_ms=cap_ms, failures=failures)
    if kind is Backoff.FIXED or ceiling <= 1:
        return ceiling
    return 1 + int(draw() * ceiling)
