"""Who builds images in tests: somebody without rights, in a user namespace of theirs.

Whoever runs the tests, if it is not root; otherwise the account `.ci/ensure images` makes, whose only right is to a
range of user ids. Root builds itself only where there is no such account.
"""

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import unavailable

ACCOUNT = "leaseforge-images"
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
PROGRAMS = ("buildah", "mmdebstrap", "newuidmap", "unshare", "setpriv")


@dataclass(frozen=True, slots=True)
class Builder:
    """An account that builds, and how a command line of ours becomes one of theirs."""

    uid: int
    gid: int
    maps: tuple[str, ...]
    """Options of `unshare` for a user namespace whose root the account is; none for root itself, which needs none."""

    @property
    def is_rootless(self) -> bool:
        return self.uid != 0

    def command(self, *argv: str | Path, home: Path) -> list[str]:
        """A command as this account, which finds nothing of the caller's environment but a home."""
        become = []
        if self.uid != os.geteuid():
            become = ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups"]
        clean = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        # A base is fetched the way whoever runs the tests fetches things.
        kept = [f"{name}={os.environ[name]}" for name in _PROXIES if name in os.environ]
        places = [f"HOME={home}", f"XDG_RUNTIME_DIR={home}", f"TMPDIR={home}"]
        return [*become, *clean, *kept, *places, *map(str, argv)]

    def inside(self, *argv: str | Path, home: Path) -> list[str]:
        """A command as root of namespaces: one of mounts, and unless the account is root anyway one of users."""
        return self.command("unshare", *self.maps, "--mount", "--propagation", "private", *argv, home=home)


def builder() -> Builder:
    """The account that builds here; the test is skipped, or fails in CI, where nobody can."""
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        reason = f"{', '.join(missing)} not installed (.ci/ensure images)"
        # Only root can put that right, in CI as elsewhere.
        if os.geteuid():
            pytest.skip(reason)
        unavailable(reason)
    try:
        account = pwd.getpwuid(os.geteuid()) if os.geteuid() else pwd.getpwnam(ACCOUNT)
    except KeyError:
        return Builder(0, 0, ())
    maps = []
    for kind, file in (("users", "/etc/subuid"), ("groups", "/etc/subgid")):
        first, count = _range(Path(file), account)
        maps.append(f"--map-{kind}={first},1,{count}")
    return Builder(account.pw_uid, account.pw_gid, ("--map-root-user", *maps))


def _range(file: Path, account: pwd.struct_passwd) -> tuple[int, int]:
    """The ids an account may use besides its own: the first of them, and how many."""
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        owner, first, count = line.split(":")
        if owner in (account.pw_name, str(account.pw_uid)):
            return int(first), int(count)
    pytest.skip(f"{account.pw_name} has no range of ids in {file} (usermod --add-subuids, --add-subgids)")
