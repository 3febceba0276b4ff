"""The login that is kept between commands: in a file of the user's own, which nobody else can read."""

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import click
import msgspec

from leaseforge_cli.client_settings import ClientSettings
from leaseforge_cli.exits import CommandFailed, ExitCode

LOCAL_URL = "http://127.0.0.1:8080"


class Login(msgspec.Struct, frozen=True):
    """A token and the one server it is for."""

    url: str
    token: str
    username: str


@dataclass(frozen=True, slots=True)
class Door:
    """The server a command speaks to, and the token it shows there."""

    url: str
    token: str = field(repr=False)


def login_file() -> Path:
    """Where the login is kept: `leaseforge/login.json` in the user's configuration folder (XDG_CONFIG_HOME)."""
    return Path(click.get_app_dir("leaseforge")) / "login.json"


def kept_login() -> Login | None:
    """The kept login, if there is one. Raises CommandFailed if others could have read it, or it cannot be read."""
    path = login_file()
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise CommandFailed(
                    f"others may read {path}: log in again (leaseforge login) and end the token it holds",
                    ExitCode.NOT_LOGGED_IN,
                )
            return msgspec.json.decode(file.read(), type=Login)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise CommandFailed(f"{path} cannot be read ({error}): leaseforge login", ExitCode.NOT_LOGGED_IN) from error


def keep_login(login: Login) -> Path:
    """Writes it down in one step, for this user's eyes only; where."""
    path = login_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp makes the file with mode 0600.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".login-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(login))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def forget_login() -> None:
    """Removes the kept login."""
    with contextlib.suppress(FileNotFoundError):
        login_file().unlink()


def door_of(settings: ClientSettings) -> Door:
    """Where to send requests, and as whom: the environment first, then the kept login.

    A kept token goes to its own server only. Raises CommandFailed when there is no token.
    """
    if settings.token is not None and settings.api_url is not None:
        return Door(settings.api_url, settings.token)
    kept = kept_login()
    if settings.token is not None:
        return Door(kept.url if kept else LOCAL_URL, settings.token)
    if kept is None:
        raise CommandFailed("not logged in: leaseforge login, or set LEASEFORGE_TOKEN", ExitCode.NOT_LOGGED_IN)
    if settings.api_url not in (None, kept.url):
        raise CommandFailed(
            f"the kept login is for {kept.url}, not for {settings.api_url}: leaseforge login, or set LEASEFORGE_TOKEN",
            ExitCode.NOT_LOGGED_IN,
        )
    return Door(kept.url, kept.token)
