"""What Redis and its client raise, in our words, and which of it is worth another try."""

import redis.exceptions as faults

from leaseforge.errors import LeaseforgeError, ScriptFault, StoreFull, StoreUnavailable

RETRYABLE_PREFIXES = (
    "LOADING",
    "BUSY",
    "READONLY",
    "NOREPLICAS",
    "TRYAGAIN",
    "CLUSTERDOWN",
    "MASTERDOWN",
    "MOVED",
    "UNBLOCKED",
)
"""Replies of a server that is starting, failing over, moving a slot, or held up by a script."""


CLIENT_ERRORS = (faults.RedisError, faults.RedisClusterException, OSError)
"""All that a client of redis-py raises; what concerns a cluster as a whole is no RedisError there."""

_PASSING = (
    faults.ConnectionError,
    faults.TimeoutError,
    OSError,
    # A cluster that cannot be reached, fails over, or moves a slot for longer than its client follows.
    faults.RedisClusterException,
    faults.ClusterError,
    faults.TryAgainError,
    faults.AskError,
)


def is_retryable(error: Exception) -> bool:
    """Whether the same call, sent again a little later, may well succeed."""
    if isinstance(error, faults.AuthenticationError | faults.NoPermissionError):
        return False
    if isinstance(error, _PASSING):
        return True
    return isinstance(error, faults.ResponseError) and str(error).startswith(RETRYABLE_PREFIXES + _BARE)


# redis-py takes the first word off the errors it has classes for; these are their bare texts.
_BARE = (
    "Redis is loading",
    "You can't write against a read only",
    "Error running script (call to",
    "Multiple keys request during",
    # Only a script that has written nothing yet can be killed.
    "Script killed by user",
)


def translate(error: Exception) -> LeaseforgeError:
    """Our exception for theirs. The text never holds keys, arguments or credentials of a call."""
    if isinstance(error, faults.AuthenticationError | faults.NoPermissionError):
        return StoreUnavailable(f"Redis refuses our credentials or a command: {error}")
    if isinstance(error, faults.OutOfMemoryError) or str(error).startswith(("OOM", "MISCONF")):
        return StoreFull(f"Redis takes no new data: {error}")
    if is_retryable(error):
        return StoreUnavailable(f"Redis is not available: {str(error) or 'no answer in time'}")
    return ScriptFault(str(error))
