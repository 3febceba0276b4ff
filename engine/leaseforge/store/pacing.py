"""How long to wait between tries: longer each time, jittered, so that many clients do not come back as one."""

import random
from collections.abc import Iterator


def pauses(first_s: float = 0.02, longest_s: float = 1.0) -> Iterator[float]:
    """Endless pauses in seconds: full jitter over a bound that doubles up to `longest_s`."""
    bound = first_s
    while True:
        yield random.uniform(bound / 2, bound)
        bound = min(longest_s, bound * 2)
