from collections.abc import Mapping

import pytest

from leaseforge import operations
from leaseforge.requests import new_job
from leaseforge.store import Store
from tests.console.browsing import Visitor

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture(scope="module")
def settings() -> Mapping[str, str]:
    return {"LEASEFORGE_TRACE_URL": "https://tracing.example.com/trace/{trace_id}?from=jobs&x=1"}


async def test_the_page_of_a_job_leads_to_its_trace(operator: Visitor, store: Store) -> None:
    traced = new_job("echo", traceparent=f"00-{TRACE_ID}-00f067aa0ba902b7-01")
    plain = new_job("echo")
    await store.run(operations.enqueue_many([traced, plain]))

    page, other = [(await operator.get(f"/console/jobs/{job.id}")).text for job in (traced, plain)]

    assert f'href="https://tracing.example.com/trace/{TRACE_ID}?from=jobs&amp;x=1"' in page
    assert "tracing.example.com" not in other
