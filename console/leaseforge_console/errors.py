"""Errors as pages: what went wrong, in an operator's words, and the way on.

For a request of htmx the same words come as a toast, so that no error page lands inside a table.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import structlog
from litestar import Response
from litestar.exceptions import HTTPException
from litestar.response import Redirect

from leaseforge import errors, events
from leaseforge_auth import errors as auth
from leaseforge_auth.csrf import SAFE_METHODS
from leaseforge_auth.oidc.errors import SsoError, SsoUnavailable
from leaseforge_console import htmx
from leaseforge_console.console import Console, ConsoleRequest
from leaseforge_console.exports import TooManyExports
from leaseforge_console.live import TooManyStreams
from leaseforge_console.moved_on import MovedOn
from leaseforge_console.paths import HOME, local_path, login_path
from leaseforge_console.views.sso import refusal

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """The page. `advice` says what to do, `reference` is the id the log has for a fault of ours.

    `to_account` offers the page everybody may read, where it says what their roles allow.
    """

    status: int
    title: str
    subject: str
    advice: str
    reference: str
    again: str | None
    to_account: bool = False


SSO_RETRY_S = 5
_UNAVAILABLE = ("Redis does not answer", "Workers go on and try again; so can you. Repeating an action is safe.")
_KINDS: dict[type[Exception], tuple[int, str, str]] = {
    errors.JobNotFound: (404, "No such job", "It may have been deleted, purged, or trimmed some time after it ended."),
    errors.QueueNotFound: (404, "No such queue", "A queue exists from its first job on."),
    errors.WorkerNotFound: (404, "No such worker", "It has left, or was silent for so long that it is forgotten."),
    errors.BulkNotFound: (404, "No such operation", "Operations are kept for 7 days after their last change."),
    errors.BulkNotPossible: (409, "The operation has moved on", ""),
    errors.TooManyOperations: (409, "Too many operations are not over", "Run or abort one of them first."),
    errors.InvalidTransition: (409, "The job has moved on", ""),
    errors.UniqueKeyTaken: (409, "Another job has its unique key", ""),
    errors.BadInput: (400, "That cannot be right", ""),
    errors.StoreFull: (503, "Redis is full", "It has no memory left for new jobs: purge some, or give it more."),
    errors.StoreUnavailable: (503, *_UNAVAILABLE),
    errors.StoreUnsuitable: (503, "Redis must not be used as it is set up", ""),
    auth.NotPermitted: (403, "Not for your role", ""),
    auth.CrossSiteRequest: (
        403,
        "The form is out of date",
        "Nothing was done. Load the page again and repeat the action.",
    ),
    auth.TryAgainLater: (429, "Too many attempts", ""),
    auth.ViewNotFound: (404, "No such saved view", "It may have been deleted."),
    auth.UserNotFound: (404, "No such user", "The account may have been deleted."),
    auth.UsernameTaken: (409, "The name is taken", ""),
    auth.UserChanged: (409, "Changed meanwhile", ""),
    auth.UserFromSettings: (409, "Set by the server's settings", ""),
    auth.LastAdministrator: (
        409,
        "The last administrator stays",
        "Without this account nobody could run the place any more: make another enabled administrator first.",
    ),
    auth.NoPassword: (409, "No password here", ""),
    auth.SessionNotFound: (404, "No such session", "It has ended already."),
    auth.TokenNotFound: (404, "No such token", "It was revoked or has expired."),
    auth.TokenNameTaken: (409, "The name is taken", ""),
    auth.TooManyTokens: (409, "Too many tokens", ""),
    TooManyExports: (503, "Too many files at once", ""),
    TooManyStreams: (503, "Too many live pages", "Reload this page to see it as it is now."),
}
_STATUSES = {
    400: ("That cannot be right", "The request is not one of this console's."),
    404: ("No such page", "Nothing lives at this address."),
    405: ("Not that way", "This address does not take such a request."),
    403: ("Not allowed", "Nothing was done."),
    409: ("Changed meanwhile", "Nothing was done. Load the page again to see how things are now."),
    413: ("Too large", "Nothing was done: the form is larger than the console accepts. Send less at a time."),
    415: ("Not a form", "This address takes the console's own forms only."),
    422: ("That cannot be right", "Nothing was done. Look at what was filled in and send it again."),
    429: ("Too many requests", "Nothing was done. Wait a moment and repeat it."),
    503: ("Not now", "Nothing was done. Try again in a moment."),
}
_FAULT = ("Something went wrong here", "The error was logged under the reference below.")


def respond(console: Console, request: ConsoleRequest, error: Exception, reference: str) -> Response[Any]:
    """Answers any exception of a console path. Somebody without a session is led to the login page and back."""
    if isinstance(error, auth.NotAuthenticated):
        return _to_login(console, request)
    if isinstance(error, MovedOn) and error.answer is not None:
        return error.answer
    if isinstance(error, SsoError):
        shown_refusal = refusal(error, reference)
        refused = console.lone(request, "pages/sso_refused.html", shown_refusal, status=shown_refusal.status)
        if isinstance(error, SsoUnavailable):
            refused.headers["Retry-After"] = str(SSO_RETRY_S)
        return refused
    status, title, advice = _words(error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.SERVICE_UNAVAILABLE:
        log.error(events.CONSOLE_PAGE_FAILED, request_id=reference, exc_info=error)
    headers = {"Retry-After": str(error.retry_after_s)} if isinstance(error, auth.TryAgainLater) else {}
    if request.scope["path"].startswith(f"{HOME}/live/"):
        # The page shows by itself that its stream is cut, and asks again.
        return Response(b"", status_code=status, headers=headers)
    if htmx.is_htmx(request):
        return console.toast("bad", _sentence(title, advice, reference), status=status, headers=headers)
    again = request.scope["path"] if request.method == "GET" and status == HTTPStatus.SERVICE_UNAVAILABLE else None
    subject = error.job_id if isinstance(error, errors.JobNotFound) else ""
    shown = reference if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""
    page = ErrorPage(status, title, subject, advice, shown, again, to_account=isinstance(error, auth.NotPermitted))
    response = console.lone(request, "pages/error.html", page, status=status)
    response.headers.update(headers)
    return response


def _words(error: Exception) -> tuple[int, str, str]:
    for kind in type(error).__mro__:
        if kind in _KINDS:
            status, title, advice = _KINDS[kind]
            return status, title, advice or f"{str(error)[:1].upper()}{str(error)[1:]}."
    status = error.status_code if isinstance(error, HTTPException) else 500
    title, advice = _STATUSES.get(status, (HTTPStatus(status).phrase, "") if status < 500 else _FAULT)
    return status, title, advice


def _sentence(title: str, advice: str, reference: str) -> str:
    return f"{title}. {advice} Reference {reference}." if advice else f"{title}. Reference {reference}."


def _to_login(console: Console, request: ConsoleRequest) -> Response[Any]:
    """A page asked for is the one to come back to; for anything else, the page the request was sent from.

    Where an action was sent, the login page says that it was not carried out.
    """
    root_path = console.settings.root_path
    undone = request.method not in SAFE_METHODS and request.scope["path"] != f"{HOME}/logout"
    if htmx.is_htmx(request):
        target = root_path + login_path(htmx.page_on_screen(request, root_path), undone=undone)
        return Response(b"", status_code=401, headers={"HX-Redirect": target})
    query = request.url.query
    asked = request.scope["path"] + (f"?{query}" if query else "")
    back = local_path(asked) if request.method == "GET" else htmx.page_on_screen(request, root_path)
    if back and back.startswith(f"{HOME}/live"):
        back = HOME
    return Redirect(root_path + login_path(back, undone=undone), status_code=htmx.SEE_OTHER)
