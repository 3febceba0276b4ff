"""Runs a command the way a container of our images does: user, root file system, capabilities, environment.

That takes root and Linux' mount namespaces. Elsewhere the command runs as whoever runs the tests, with the same
environment; `is_confined` tells which it is.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

UID = 10001
# The whole tree becomes read-only, /mnt the container's /tmp. A Python that lies in a folder nobody but its owner may
# enter, such as /root, is mounted once more where the image's user finds it.
_ENTER = r"""
set -e
python=$1 hidden=$2
shift 2
mount -t tmpfs -o size=64m,mode=1777,noexec,nosuid,nodev tmpfs /mnt
if [ -n "$hidden" ]; then
    mkdir /mnt/python && mount --bind "$python" /mnt/python
    mount -t tmpfs -o mode=755 tmpfs "$hidden"
    mkdir -p "$python" && mount --bind /mnt/python "$python" && mount -o remount,bind,ro "$python"
    umount /mnt/python && rmdir /mnt/python
fi
mount -o remount,bind,ro /
cd /
exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all "$@"
"""


def as_image(argv: Sequence[str | Path]) -> list[str]:
    """The command line that runs `argv` as a container would, or `argv` where that is not possible."""
    return [*_entrance(), *map(str, argv)] if is_confined() else [str(part) for part in argv]


@cache
def is_confined() -> bool:
    """Whether commands run as the image's user on a read-only tree here."""
    if not all(shutil.which(program) for program in ("unshare", "setpriv", "mount")):
        return False
    tried = [*_entrance(), sys.executable, "-c", "import leaseforge_cli"]
    return subprocess.run(tried, capture_output=True, timeout=60, check=False).returncode == 0


def _entrance() -> list[str]:
    python = Path(sys.base_prefix)
    hidden = [folder for folder in (*reversed(python.parents), python) if not folder.stat().st_mode & 0o001]
    arguments = [str(python), str(hidden[0]) if hidden else ""]
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "sh", *arguments]
