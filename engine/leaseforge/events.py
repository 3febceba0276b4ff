"""Names of log events, one constant each, so that the documentation can be checked against them."""

STORE_RETRY = "store_retry"
STORE_UNSAFE = "store_unsafe"
