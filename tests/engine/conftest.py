"""A queue for each engine test, audited when the test is over."""

from collections.abc import Iterator

import pytest

from tests.support.live_queue import LiveQueue


@pytest.fixture
def line(redis_url: str) -> Iterator[LiveQueue]:
    """A queue in an empty database. Whatever the test did, the queue must be whole afterwards."""
    with LiveQueue(redis_url) as queue:
        yield queue
        queue.audit()
