"""One audited request: its intent before anything is done, its outcome before the answer leaves."""

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from leaseforge import events
from leaseforge.errors import StoreError
from leaseforge.texts import cut
from leaseforge_auth.audit.entries import MAX_DETAIL_BYTES, MAX_REASON, MAX_TARGET, Entry, Result, Step, encode
from leaseforge_auth.audit.trail import AuditTrail
from leaseforge_auth.identity import Identity

if TYPE_CHECKING:
    from litestar import Request  # commands write to the trail without the web framework

SCOPE_KEY = "leaseforge.audit"

log = structlog.get_logger()


class _WithReason(msgspec.Struct):
    """All that is read of a body here."""

    reason: str = ""


_reason_in = msgspec.json.Decoder(_WithReason).decode


class Action:
    """What one request does, as the audit trail will have it.

    `begin` raises StoreError if the intent cannot be stored: then the action must not be carried out.
    """

    def __init__(self, trail: AuditTrail, entry: Entry) -> None:
        self._trail = trail
        self._entry = entry
        self._intent: Entry | None = None
        self._detail: dict[str, Any] = {}
        self._is_refused = False
        self._is_closed = False

    @property
    def id(self) -> str:
        """The action's id, by which its entries are found."""
        return self._entry.id

    @property
    def has_begun(self) -> bool:
        """Whether the trail knows of it."""
        return self._intent is not None

    async def begin(self, identity: Identity | None = None, *, reason: str = "") -> None:
        """Stores the intent; a second time nothing."""
        if self._intent is not None:
            return
        if identity is not None:
            self.known(identity.username, identity.roles, identity.kind)
        self._entry = msgspec.structs.replace(self._entry, reason=cut(reason, MAX_REASON))
        self._intent = await self._trail.append(self._entry)

    def known(self, username: str, roles: tuple[str, ...] = (), credential: str = "") -> None:
        """Who it is, once that is certain."""
        self._entry = msgspec.structs.replace(
            self._entry, user=username, roles=tuple(str(role) for role in roles), credential=credential
        )

    def note(self, **detail: Any) -> None:
        """Adds facts for the outcome: what was there before and after, how many. Small ones, and never secrets."""
        self._detail |= detail

    def refused(self) -> None:
        """Nothing was done, although the answer is no error: it leads back to a page that says why."""
        self._is_refused = True

    async def close(self, status: int) -> bool:
        """Stores how the request is answered, once; whether it could. The answer leaves in any case."""
        if self._intent is None or self._is_closed:
            return False
        self._is_closed = True
        outcome = msgspec.structs.replace(
            self._entry,
            step=Step.OUTCOME,
            began_at_ms=self._intent.at_ms,
            status=status,
            result=Result.REFUSED if self._is_refused else _result(status),
            detail=self._detail if len(encode(self._detail)) <= MAX_DETAIL_BYTES else {"detail": "too large"},
        )
        try:
            await self._trail.append(outcome)
        except StoreError as error:
            log.error(events.AUDIT_OUTCOME_LOST, action=outcome.action, audit_id=outcome.id, error=str(error))
            return False
        return True


def action_of(request: "Request[Any, Any, Any]") -> Action:
    """The audited action of a request, for its route to add facts to."""
    action: Action = request.scope[SCOPE_KEY]  # type: ignore[literal-required]  # scopes are open to additions
    return action


def action_behind(request: "Request[Any, Any, Any]") -> Action | None:
    """The audited action of a request as far as the trail knows of it; None for one that is not audited."""
    action: Action | None = request.scope.get(SCOPE_KEY)  # type: ignore[assignment]  # scopes are open to additions
    return action if action is not None and action.has_begun else None


def new_action(
    trail: AuditTrail, word: str, *, address: str, path_parameters: Mapping[str, Any], request_id: str
) -> Action:
    """An action not begun yet. What it is done to is what the path names."""
    target = "/".join(str(value) for value in path_parameters.values())
    entry = Entry(
        id=uuid.uuid4().hex,
        step=Step.INTENT,
        at_ms=0,
        action=word,
        address=address,
        target=cut(target, MAX_TARGET),
        request_id=request_id,
    )
    return Action(trail, entry)


async def reason_of(request: "Request[Any, Any, Any]") -> str:
    """The reason the request gives: `reason` in its JSON, its form, or (of a DELETE) its query; '' without one."""
    if request.method == "DELETE":
        return request.query_params.get("reason", "")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "application/json":
            return _reason_in(await request.body()).reason
        if kind == "application/x-www-form-urlencoded":
            given = (await request.form()).get("reason", "")
            return given if isinstance(given, str) else ""
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return ""  # the route will say what is wrong with the body
    return request.query_params.get("reason", "")


def _result(status: int) -> Result:
    if status < 400:
        return Result.OK
    return Result.REFUSED if status < 500 else Result.FAILED
