"""One's own browser sessions, and the end of all one has been handed out."""

from litestar import Router, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge_api.schemas.users import Session, session
from leaseforge_auth.guards import any_identity
from leaseforge_auth.identity import Identity
from leaseforge_auth.sessions import Sessions
from leaseforge_auth.users import Users


@get("/", summary="List your sessions", **any_identity(logged_in=True))
async def index(identity: NamedDependency[Identity], sessions: NamedDependency[Sessions]) -> list[Session]:
    """One's own browser sessions, newest first; 50 at most."""
    return [session(one) for one in await sessions.listed(identity.username)]


@delete("/{session_id:str}", summary="End your session", **any_identity(audit="session.revoke", logged_in=True))
async def revoke(
    session_id: FromPath[str], identity: NamedDependency[Identity], sessions: NamedDependency[Sessions]
) -> None:
    """Ends one of one's own sessions at once."""
    await sessions.revoke(identity.username, session_id)


@post("/end-all", summary="Log out everywhere", status_code=204, **any_identity(audit="user.logout", logged_in=True))
async def end_all(identity: NamedDependency[Identity], users: NamedDependency[Users]) -> None:
    """Logs oneself out everywhere: sessions, access tokens (this one too) and personal API tokens."""
    await users.log_out_everywhere(identity.username)


router = Router("/sessions", route_handlers=[index, revoke, end_all], tags=["sessions"])
