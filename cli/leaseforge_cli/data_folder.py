"""What `leaseforge dev` keeps between starts, in a folder only its owner can read."""

import os
import secrets
from pathlib import Path

from leaseforge_cli.exits import CommandFailed, ExitCode


class DataFolder:
    """The folder (`.leaseforge` by default): the server's data, the signing secret, a password not yet shown."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise CommandFailed(f"cannot make the data folder: {error}", ExitCode.SETTINGS) from error

    @property
    def redis(self) -> Path:
        """Where the embedded server keeps its data."""
        return self.path / "redis"

    def signing_secret(self) -> str:
        """The secret that signs tokens, made at the first start and kept, so that logins outlive a restart."""
        return self._kept("auth-secret", 48)

    def unseen_password(self) -> str:
        """The administrator's first password. It is kept in a file until it has been shown, then only as a hash."""
        return self._kept("first-password", 12)

    @property
    def has_unseen_password(self) -> bool:
        """Whether an earlier start made a password and ended before it could show it."""
        return (self.path / "first-password").exists()

    def password_was_shown(self) -> None:
        """Forget the first password: from now on only its hash exists."""
        (self.path / "first-password").unlink(missing_ok=True)

    def _kept(self, name: str, random_bytes: int) -> str:
        """The text of a private file, written with a random one when it is not there."""
        file = self.path / name
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            text = file.read_text(encoding="utf-8").strip()
            if text:
                return text
            file.unlink()  # an earlier start was killed between making and writing it
            return self._kept(name, random_bytes)
        text = secrets.token_urlsafe(random_bytes)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text + "\n")
        return text
