"""Whatever goes wrong is told: as a page, and to htmx as one message with the id the log has for it."""

from collections.abc import Callable
from typing import Any

import pytest
from litestar.exceptions import HTTPException

from leaseforge import errors
from leaseforge_auth import errors as auth
from leaseforge_console import visit
from leaseforge_console.live import TooManyStreams
from tests.console.browsing import Visitor, words

FAILURES: dict[str, tuple[Callable[[], Exception], int, str]] = {
    "not permitted": (lambda: auth.NotPermitted("queues:write"), 403, "Not for your role. "),
    "form out of date": (lambda: auth.CrossSiteRequest("x"), 403, "The form is out of date. Nothing was done."),
    "forbidden": (lambda: HTTPException(status_code=403), 403, "Not allowed. Nothing was done."),
    "not found": (lambda: errors.JobNotFound("x"), 404, "No such job. It may have been deleted"),
    "no page": (lambda: HTTPException(status_code=404), 404, "No such page. "),
    "moved on": (lambda: auth.UserChanged("ada"), 409, "Changed meanwhile. "),
    "conflict": (lambda: HTTPException(status_code=409), 409, "Changed meanwhile. Nothing was done."),
    "too large": (lambda: HTTPException(status_code=413), 413, "Too large. Nothing was done"),
    "not a form": (lambda: HTTPException(status_code=415), 415, "Not a form. "),
    "unprocessable": (lambda: HTTPException(status_code=422), 422, "That cannot be right. Nothing was done."),
    "too many": (lambda: auth.TooManyAttempts(7), 429, "Too many attempts. "),
    "too many requests": (lambda: HTTPException(status_code=429), 429, "Too many requests. Nothing was done."),
    "redis away": (lambda: errors.StoreUnavailable("x"), 503, "Redis does not answer. Workers go on"),
    "redis full": (lambda: errors.StoreFull("x"), 503, "Redis is full. "),
    "streams": (lambda: TooManyStreams("x"), 503, "Too many live pages. Reload"),
    "a defect": (lambda: RuntimeError("secret"), 500, "Something went wrong here. The error was logged"),
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_every_failure_is_a_page_or_one_message_with_the_requests_id(
    operator: Visitor, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    make, status, told = FAILURES[failure]

    def fail(*_: Any, **__: Any) -> Any:
        raise make()

    monkeypatch.setattr(visit, "read_snapshot", fail)
    page = await operator.get("/console/queues")
    message = await operator.get("/console/queues", htmx=True)

    assert (page.status_code, message.status_code) == (status, status)
    title, _, advice = told.partition(". ")
    assert f"{title} " in words(page.text)
    assert advice.strip() in words(page.text)
    assert told.strip() in words(message.text)
    assert message.text.count('class="toast bad"') == 1
    assert f"Reference {message.headers['x-request-id']}." in words(message.text)
    assert message.headers["hx-retarget"] == "#toasts"
    assert message.headers["hx-reselect"] == ".toast"
    assert "secret" not in page.text + message.text
