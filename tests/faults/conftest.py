"""Fixtures of the fault tests."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.ledger import Ledger
from tests.faults.produced import Produced
from tests.faults.servers import FaultyServer
from tests.faults.workers import Crew
from tests.support.processes import Process


@pytest.fixture
def seed() -> int:
    """Printed with a failure; LEASEFORGE_TEST_SEED repeats it."""
    chosen = int(os.environ.get("LEASEFORGE_TEST_SEED", 0)) or random.randrange(1, 2**31)
    print(f"LEASEFORGE_TEST_SEED={chosen}")
    return chosen


@pytest.fixture
def chance(seed: int) -> random.Random:
    """Where a test leaves something to chance."""
    return random.Random(seed)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """An empty ledger."""
    return Ledger(tmp_path)


@pytest.fixture
def produced() -> Produced:
    """What producers of the test know."""
    return Produced()


@pytest.fixture
def crew(processes: Callable[..., Process], redis_url: str, ledger: Ledger) -> Crew:
    """Workers on a clean database of the session's server."""
    return Crew(processes, redis_url, ledger)


@pytest.fixture
def faulty_server(tmp_path: Path) -> Iterator[Callable[..., FaultyServer]]:
    """Starts servers of the test's own: `faulty_server(fsync="always")`."""
    with ExitStack() as ending:

        def start(**options: str) -> FaultyServer:
            return ending.enter_context(FaultyServer(tmp_path / "redis", **options))

        yield start
