"""Fixtures of the worker's tests."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from leaseforge.tasks import AnyTask
from tests.worker.runner import Runner


@pytest.fixture
async def running() -> AsyncIterator[Callable[..., Runner]]:
    """Makes runners whose timers and threads end with the test."""
    runners: list[Runner] = []

    def make(*tasks: AnyTask, **options: Any) -> Runner:
        runners.append(Runner(*tasks, **options))
        return runners[-1]

    yield make
    for one in runners:
        one.attempts.close()
