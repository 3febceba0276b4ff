"""A queue whose races are tried in every order."""

from collections.abc import Iterator

import pytest

from tests.support.live_queue import LiveQueue


@pytest.fixture
def line(redis_url: str) -> Iterator[LiveQueue]:
    """A queue in an empty database."""
    with LiveQueue(redis_url) as queue:
        yield queue
