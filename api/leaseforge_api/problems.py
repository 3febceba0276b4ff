"""Errors as answers: every refusal and every fault leaves the API as one problem+json document (RFC 9457).

HTTP status codes live here and nowhere else.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, ValidationException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from leaseforge import errors, events
from leaseforge_api.errors import TooBusy, UnsupportedContentType
from leaseforge_api.request_ids import request_id
from leaseforge_auth import errors as auth
from leaseforge_auth.oidc import errors as sso
from leaseforge_console.live import TooManyStreams

MEDIA_TYPE = "application/problem+json"
# A body with a thousand broken jobs must not be answered with a thousand lines.
MAX_ERRORS = 100
MAX_IN_DETAIL = 5

log = structlog.get_logger()


class FieldError(msgspec.Struct, frozen=True):
    """One broken rule: the field as the request names it (`jobs[3].priority`), and what would be right."""

    field: str
    message: str


class Problem(msgspec.Struct, frozen=True):
    """A problem document. `type` names the kind for programs, `detail` tells a person what to do about this one."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[FieldError]


class _Kind(msgspec.Struct, frozen=True):
    """How one kind of exception is answered; `detail` replaces the exception's own words where those would not help."""

    status: int
    slug: str
    title: str
    detail: str = ""
    retry_after_s: int | None = None


_KINDS: Mapping[type[Exception], _Kind] = {
    errors.PayloadTooLarge: _Kind(413, "payload-too-large", "The payload is too large"),
    errors.BadInput: _Kind(400, "invalid-request", "The request is not valid"),
    errors.JobNotFound: _Kind(404, "job-not-found", "No such job"),
    errors.QueueNotFound: _Kind(404, "queue-not-found", "No such queue"),
    errors.WorkerNotFound: _Kind(404, "worker-not-found", "No such worker"),
    errors.InvalidTransition: _Kind(409, "invalid-transition", "The job's state does not allow this"),
    errors.UniqueKeyTaken: _Kind(409, "unique-key-taken", "Another job has its unique key"),
    errors.BulkNotFound: _Kind(404, "bulk-not-found", "No such bulk operation"),
    errors.BulkNotPossible: _Kind(409, "bulk-not-possible", "The bulk operation's state does not allow this"),
    errors.TooManyOperations: _Kind(409, "too-many-operations", "Too many bulk operations are not over"),
    errors.TooManyOwnOperations: _Kind(409, "too-many-own-operations", "Too many of your bulk operations are not over"),
    errors.IdempotencyConflict: _Kind(422, "idempotency-conflict", "The idempotency key belongs to another job"),
    errors.TooManyQueues: _Kind(409, "too-many-queues", "There are too many queues"),
    errors.StoreFull: _Kind(
        503, "store-full", "Redis is full", "Redis has no memory left for new jobs: purge some, or give it more", 30
    ),
    errors.StoreUnavailable: _Kind(
        503, "store-unavailable", "Redis cannot be reached", "Redis cannot be reached: repeating the request is safe", 2
    ),
    errors.StoreUnsuitable: _Kind(503, "store-unsuitable", "Redis must not be used as it is set up"),
    auth.NotAuthenticated: _Kind(401, "not-authenticated", "Authentication is required"),
    auth.NotPermitted: _Kind(403, "not-permitted", "Not allowed"),
    auth.CrossSiteRequest: _Kind(403, "cross-site-request", "The request was not sent by this console"),
    auth.UserNotFound: _Kind(404, "user-not-found", "No such user"),
    auth.UsernameTaken: _Kind(409, "username-taken", "The name is taken"),
    auth.UserChanged: _Kind(409, "user-changed", "The user was changed meanwhile"),
    auth.UserFromSettings: _Kind(409, "user-from-settings", "The settings decide"),
    auth.NoPassword: _Kind(409, "no-password", "There is no password"),
    auth.LastAdministrator: _Kind(409, "last-administrator", "The last administrator"),
    auth.SessionNotFound: _Kind(404, "session-not-found", "No such session"),
    auth.TokenNotFound: _Kind(404, "token-not-found", "No such token"),
    auth.TokenNameTaken: _Kind(409, "token-name-taken", "The name is taken"),
    auth.TooManyTokens: _Kind(409, "too-many-tokens", "There are too many tokens"),
    sso.SsoOff: _Kind(404, "sso-off", "There is no single sign-on"),
    sso.SsoBadReturn: _Kind(400, "sso-bad-return", "The way back is not allowed"),
    sso.SsoLost: _Kind(400, "sso-lost", "No such login"),
    sso.SsoOtherBrowser: _Kind(400, "sso-other-browser", "Another browser's login"),
    sso.SsoDenied: _Kind(403, "sso-denied", "Not let in"),
    sso.SsoUnavailable: _Kind(503, "sso-unavailable", "The provider does not answer", retry_after_s=5),
    sso.SsoMisconfigured: _Kind(503, "sso-misconfigured", "Single sign-on is not set up in order"),
    auth.TryAgainLater: _Kind(429, "try-again-later", "Too many requests"),
    RequestEntityTooLarge: _Kind(
        413, "body-too-large", "The request is too large", "the body is larger than this path accepts"
    ),
    TooManyStreams: _Kind(503, "too-many-streams", "Too many streams", retry_after_s=10),
    TooBusy: _Kind(503, "too-busy", "Too busy", retry_after_s=1),
    UnsupportedContentType: _Kind(415, "unsupported-content-type", "The content type is not supported"),
    ValidationException: _Kind(400, "invalid-request", "The request is not valid"),
    RecursionError: _Kind(400, "invalid-request", "The request is not valid", "the JSON is nested too deep"),
}
_FAULT = _Kind(500, "internal-error", "Something went wrong here", "the error was logged with the request id above")


def problem_of(request: Request[Any, Any, Any], error: Exception) -> tuple[Problem, dict[str, str]]:
    """The document and the headers that answer this exception; a fault of ours is logged here, once."""
    kind = _kind_of(error)
    if kind.status >= HTTPStatus.INTERNAL_SERVER_ERROR and kind.status != HTTPStatus.SERVICE_UNAVAILABLE:
        log.error(events.REQUEST_FAILED, request_id=request_id(request.scope), exc_info=error)
    document = Problem(
        type=f"urn:leaseforge:problem:{kind.slug}",
        title=kind.title,
        status=kind.status,
        detail=kind.detail or _detail(error),
        instance=request.scope["path"],
        request_id=request_id(request.scope),
        errors=_field_errors(error),
    )
    return document, _headers_of(error, kind)


def answer_problem(request: Request[Any, Any, Any], error: Exception) -> Response[Problem]:
    """The exception handler of everything that is not a page."""
    document, headers = problem_of(request, error)
    return Response(document, status_code=document.status, media_type=MEDIA_TYPE, headers=headers)


def _detail(error: Exception) -> str:
    """The exception's own words, of a long list of problems the first ones."""
    if isinstance(error, ValidationException):
        said = [f"{one.field}: {one.message}" if one.field else one.message for one in _field_errors(error)]
        return "; ".join(said[:MAX_IN_DETAIL]) or "the request is not valid"
    if not isinstance(error, errors.BadInput):
        return str(error)
    said = [f"{problem.field}: {problem.message}" if problem.field else problem.message for problem in error.problems]
    more = [f"and {len(said) - MAX_IN_DETAIL} more"] if len(said) > MAX_IN_DETAIL else []
    return "; ".join(said[:MAX_IN_DETAIL] + more)


def _kind_of(error: Exception) -> _Kind:
    for cls in type(error).__mro__:
        if (kind := _KINDS.get(cls)) is not None:
            return kind
    if isinstance(error, HTTPException) and error.detail == _GONE:
        return _Kind(400, "invalid-request", "The request is not valid", "the body ended before it was complete")
    if isinstance(error, HTTPException) and error.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
        status = HTTPStatus(error.status_code)
        slug = status.phrase.lower().replace(" ", "-")
        says_more = error.detail and error.detail != status.phrase
        return _Kind(status, slug, status.phrase, error.detail if says_more else _DETAILS.get(status, status.phrase))
    return _FAULT


# What the framework says, as a fault of its own, of a client that went away in the middle of its body.
_GONE = "client disconnected prematurely"
_DETAILS: Mapping[int, str] = {
    404: "nothing is served at this path",
    405: "this path does not support the method: see Allow",
}


# Parameters our handlers call otherwise than requests do.
_PARAMETERS: Mapping[str, str] = {
    "idempotency_key": "Idempotency-Key",
    "in_state": "state",
    "in_states": "state",
    "from_at": "from",
    "to_at": "to",
}


def _field_errors(error: Exception) -> list[FieldError]:
    if isinstance(error, errors.BadInput):
        return [FieldError(problem.field, problem.message) for problem in error.problems[:MAX_ERRORS]]
    if isinstance(error, ValidationException) and isinstance(error.extra, Sequence):
        return [
            FieldError(_PARAMETERS.get(key := str(item.get("key", "")), key), str(item.get("message", "")))
            for item in error.extra
        ]
    return []


def _headers_of(error: Exception, kind: _Kind) -> dict[str, str]:
    if isinstance(error, auth.NotAuthenticated):
        return {"WWW-Authenticate": 'Bearer error="invalid_token"' if error.had_credential else "Bearer"}
    if isinstance(error, auth.TryAgainLater):
        return {"Retry-After": str(error.retry_after_s)}
    if kind.retry_after_s is not None:
        return {"Retry-After": str(kind.retry_after_s)}
    if isinstance(error, MethodNotAllowedException):
        return {"Allow": (error.headers or {}).get("allow", "")}
    return {}
