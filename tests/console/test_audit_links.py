"""After an audited action those who may read the audit trail are led to the very entry."""

import html
import re
from collections.abc import Callable
from typing import Any

from leaseforge import operations
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.console.browsing import Visitor, words

LINK = re.compile(r'class="onward"\s+href="([^"]+)">Audit entry<')


async def pause(visitor: Visitor, store: Store) -> str:
    for queue in ("mail", "media"):
        await store.run(operations.enqueue(new_job("echo", queue=queue)))
    await visitor.get("/console/queues")
    await visitor.post("/console/queues/mail/pause")
    await visitor.post("/console/queues/media/pause")
    return (await visitor.get("/console/queues")).text


async def test_an_administrator_is_led_to_the_entry_of_the_action(visit: Callable[[Role], Any], store: Store) -> None:
    admin = await visit(Role.ADMIN)
    found = LINK.search(await pause(admin, store))
    assert found is not None

    page = (await admin.get(html.unescape(found[1]))).text

    assert page.count('id="entry-') == 1
    assert "queue.pause" in page
    assert 'href="/console/queues/media"' in page
    assert 'id="details-of' in page
    assert re.search(r'<details id="more-\d+" open', page)
    assert "1 action" in words(page)


async def test_an_operator_who_may_not_read_the_trail_is_told_without_a_link(operator: Visitor, store: Store) -> None:
    page = await pause(operator, store)

    assert "Paused media." in words(page)
    assert LINK.search(page) is None


async def test_what_is_not_audited_has_no_entry_to_lead_to(visit: Callable[[Role], Any], store: Store) -> None:
    admin = await visit(Role.ADMIN)

    assert LINK.search((await admin.get("/console")).text) is None
