"""What one attempt in a child process may use of the machine."""

import math
import resource
import time
from pathlib import Path

from leaseforge.isolation import Isolation

_MIB = 1024 * 1024
_STATM = Path("/proc/self/statm")


class Limits:
    """Limits on this process for the length of one attempt: on top of what it uses already, so that it can be re-used.

    Only the soft limits are changed, which a process may raise again.
    """

    def __init__(self, isolation: Isolation) -> None:
        self._isolation = isolation
        self._before: list[tuple[int, tuple[int, int]]] = []

    def set(self) -> None:
        """The limits hold from now on."""
        memory_mb, cpu_s = self._isolation.memory_mb, self._isolation.cpu_s
        if cpu_s is not None:
            self._limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + cpu_s)
        if memory_mb is not None and (size := address_space()):
            self._limit(resource.RLIMIT_AS, size + memory_mb * _MIB)

    def lift(self) -> None:
        """The limits hold no more."""
        while self._before:
            kind, limits = self._before.pop()
            resource.setrlimit(kind, limits)

    def _limit(self, kind: int, most: int) -> None:
        soft, hard = before = resource.getrlimit(kind)
        self._before.append((kind, before))
        caps = [most, *(cap for cap in (soft, hard) if cap != resource.RLIM_INFINITY)]
        resource.setrlimit(kind, (min(caps), hard))


class Usage:
    """How much this process has grown since it was ready."""

    def __init__(self) -> None:
        self._ready = address_space()

    def is_worn(self, isolation: Isolation) -> bool:
        """Whether attempts left behind more than one of them may use: the next shall not pay for it."""
        return isolation.memory_mb is not None and address_space() - self._ready > isolation.memory_mb * _MIB


def address_space() -> int:
    """Bytes of address space this process has; 0 where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0
