"""The secrets `leaseforge dev` gives to the server it starts, and how the administrator gets in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from leaseforge.store import Store
from leaseforge_auth.calls import read_account
from leaseforge_cli.data_folder import DataFolder
from leaseforge_cli.listening import is_free

SECRET = "LEASEFORGE_AUTH_SECRET"  # noqa: S105 - the name of a variable
USER = "LEASEFORGE_ADMIN_USER"
PASSWORD = "LEASEFORGE_ADMIN_PASSWORD"  # noqa: S105 - the name of a variable
USERS = "LEASEFORGE_USERS"
LOG_LEVEL = "LEASEFORGE_LOG_LEVEL"
METRICS = "LEASEFORGE_METRICS_ADDR"
METRICS_PORT = 8081
# A worker runs code of its users: it is not given what signs tokens and lets people in.
SERVER_ONLY = frozenset(f"{name}{suffix}" for name in (SECRET, PASSWORD, USERS) for suffix in ("", "_FILE"))


@dataclass(frozen=True, slots=True)
class Login:
    """The administrator's login; `password` only when we made it and it has to be shown, this once."""

    username: str
    explanation: str
    password: str | None = field(default=None, repr=False)


async def first_login(store: Store, environ: Mapping[str, str], folder: DataFolder) -> Login:
    """Who can log in: accounts the environment declares, or an administrator made at the first start."""
    username = environ.get(USER) or "admin"
    if _is_given(environ, PASSWORD):
        return Login(username, f"as set in {PASSWORD}")
    if _is_given(environ, USERS):
        return Login("", f"accounts as set in {USERS}")
    if not folder.has_unseen_password and await store.run(read_account(username)) is not None:
        return Login(
            username, f"as set or printed at the first start (lost? start once with {PASSWORD} set to a new one)"
        )
    return Login(username, "shown this once, and still valid after the next start", password=folder.unseen_password())


def server_environment(environ: Mapping[str, str], folder: DataFolder, login: Login) -> dict[str, str]:
    """The server's environment: the given one, and what is missing in it."""
    # A line for each request would push the login out of the terminal.
    added = {} if environ.get(LOG_LEVEL) else {LOG_LEVEL: "warning"}
    if not _is_given(environ, SECRET):
        added[SECRET] = folder.signing_secret()
    if login.password is not None:
        added |= {USER: login.username, PASSWORD: login.password}
    return {**environ, **added}


def worker_environment(environ: Mapping[str, str], *, api_port: int) -> dict[str, str]:
    """The worker's environment: the given one without the server's secrets, and a port for probes that is free."""
    kept = {name: value for name, value in environ.items() if name not in SERVER_ONLY}
    if not kept.get(METRICS) and (api_port == METRICS_PORT or not is_free(("127.0.0.1", METRICS_PORT))):
        kept[METRICS] = "127.0.0.1:0"  # any free one: the demo must not fail because of it
    return kept


def _is_given(environ: Mapping[str, str], name: str) -> bool:
    return bool(environ.get(name) or environ.get(f"{name}_FILE"))
