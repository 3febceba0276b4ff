"""The application without its own runner: tests let one work turn by turn, on a clock of theirs."""

from typing import Any

import pytest

from leaseforge.store import Store
from leaseforge_api.bulk_runner import BulkRunner
from leaseforge_auth.audit.chain import Chain
from leaseforge_auth.audit.trail import AuditTrail
from leaseforge_auth.roles import Role
from tests.api.bulk.support import Clock
from tests.api.conftest import SECRET, Bearer, browse


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def runner(store: Store, clock: Clock) -> BulkRunner:
    return BulkRunner(store, AuditTrail(store, Chain([SECRET]), keep=1000), clock=clock)


@pytest.fixture
async def client(app: Any, bearer: Bearer) -> Any:
    """The application without its own runner: the tests let one work step by step."""
    async with browse(app) as connected:
        yield connected


@pytest.fixture
def operator(bearer: Bearer) -> dict[str, str]:
    return bearer(Role.OPERATOR)
