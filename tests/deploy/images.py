"""Builds images with buildah, without Docker or a registry, and runs commands in them the way a container would."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.deploy.builder import Builder
from tests.deploy.dockerfile import DOCKER, ROOT

BASE = "localhost/python:debian"
# $1: the image's tree; the pairs of folders behind `--` in front of the command are mounted. Only /tmp can be written.
_ENTER = r"""
set -e
tree=$1
shift
mount --bind "$tree" "$tree"
mkdir -p "$tree/dev"
mount --rbind /proc "$tree/proc"
mount --rbind /dev "$tree/dev"
mount -t tmpfs -o size=64m,mode=1777,noexec,nosuid,nodev tmpfs "$tree/tmp"
mount -t tmpfs -o mode=755 tmpfs "$tree/run"
while [ "$1" != -- ]; do
    mkdir -p "$tree$2"
    mount --bind "$1" "$tree$2"
    shift 2
done
shift
mount -o remount,bind,ro "$tree/run"
mount -o remount,bind,ro "$tree"
exec setpriv --no-new-privs chroot --userspec=10001:10001 --groups= "$tree" "$@"
"""


class Images:
    """A store of images in a folder of its own, and one base: a Debian with nothing but Python."""

    def __init__(self, builder: Builder, folder: Path) -> None:
        self.builder = builder
        self._folder = folder
        folder.chmod(0o755)
        self._home = self.new_folder("home")
        os.chown(self._home, self.builder.uid, self.builder.gid)
        self._buildah = ["buildah", "--root", str(self._home / "store"), "--runroot", str(self._home / "run")]
        self._buildah += ["--storage-driver", "vfs"]
        self._context = folder / "context"
        self._trees: dict[str, Path] = {}

    def prepare(self) -> None:
        """Makes the base, and a copy of the sources with every wheel in it."""
        base = self._home / "base.tar"
        mode = "unshare" if self.builder.is_rootless else "root"
        packages = "--include=python3,python3-venv,ca-certificates"
        # The nodes of /dev are for root alone to make; a container gets its own.
        own = ["mmdebstrap", f"--mode={mode}", "--variant=minbase", packages, "--skip=output/dev"]
        _run(*self.builder.command(*own, "--quiet", "bookworm", base, home=self._home))
        container = self._call("from", "scratch")
        self._call("add", "--quiet", container, str(base), "/")
        self._call("config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin", container)
        self._call("commit", "--quiet", container, BASE)
        self._call("rm", container)
        base.unlink()
        ignored = shutil.ignore_patterns(".*", "__pycache__", "*.whl", "screenshots", "results")
        for name in ("engine", "auth", "api", "console", "worker", "cli", "templates", "static", "deploy"):
            shutil.copytree(ROOT / name, self._context / name, ignore=ignored)
        for name in ("LICENSE", "README.md", "pyproject.toml", ".dockerignore"):
            shutil.copy(ROOT / name, self._context)
        self._fetch_wheels()
        _run("chmod", "--recursive", "a+rX", self._context)

    def close(self) -> None:
        """Removes it all; what the builder's namespace owns is removed from inside."""
        _run(*self.builder.inside("rm", "-rf", self._home / "store", self._home / "run", home=self._home))
        shutil.rmtree(self._folder)

    def new_folder(self, name: str) -> Path:
        """A folder that builder and containers find, which those of pytest are not."""
        made = self._folder / name
        made.mkdir()
        made.chmod(0o755)
        return made

    def _fetch_wheels(self) -> None:
        """Downloads what the locks name for the base's Python, which is not the one that runs the tests."""
        found = self.run(BASE, ["python3", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"])
        major, minor, patch = found.stdout.strip().split(".")
        locks = [part for name in ("build", "server", "worker") for part in ("-r", str(DOCKER / f"{name}.lock"))]
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        pip += ["--only-binary", ":all:", "--dest", str(self._context / "deploy/docker/wheelhouse")]
        _run(*pip, "--require-hashes", *locks)
        assert (int(major), int(minor)) == sys.version_info[:2], "run this with the Python of Debian's release"
        if (int(major), int(minor), int(patch)) < (3, 11, 3):
            # redis-py asks for it there, and pip judges conditions by the Python it runs on.
            text = (DOCKER / "worker.lock").read_text("utf-8")
            [version] = [line.split()[0] for line in text.splitlines() if line.startswith("async-timeout==")]
            _run(*pip, version)

    def build(self, target: str, *, context: Path | None = None, file: Path | None = None, **arguments: str) -> str:
        """Builds one target; the image's name."""
        arguments = {"PYTHON_IMAGE": BASE, "PIP_NO_INDEX": "1"} | arguments
        given = [part for name, value in arguments.items() for part in ("--build-arg", f"{name}={value}")]
        name = f"localhost/leaseforge-{target}:test"
        argv = ["bud", "--quiet", "--isolation", "chroot", "--pull-never", "--format", "docker", *given]
        target_option = [] if file else ["--target", target]
        file = file or self._context / "deploy/docker/Dockerfile"
        self._call(*argv, "--file", str(file), *target_option, "--tag", name, str(context or self._context))
        return name

    def as_builder(self, *argv: str) -> str:
        """What a command prints that runs as whoever builds."""
        return _run(*self.builder.command(*argv, home=self._home))

    def configuration(self, image: str) -> dict[str, Any]:
        """What Docker would know of it: user, environment, command, labels."""
        found: dict[str, Any] = json.loads(self._call("inspect", "--type", "image", image))["Docker"]["config"]
        return found

    def size(self, image: str) -> str:
        """Its size, base included, as buildah tells it."""
        return str(json.loads(self._call("images", "--json", image))[0]["size"])

    def extract(self, image: str, path: str) -> str:
        """The text of one of its files."""
        return self.run(image, ["cat", path]).stdout

    def tree(self, image: str) -> Path:
        """Its root file system."""
        if image not in self._trees:
            container = self._call("from", "--pull-never", image)
            mounting = self.builder.inside(*self._buildah, "mount", container, home=self._home)
            # What is mounted is a folder of the store, which stays.
            self._trees[image] = Path(_run(*mounting).strip())
        return self._trees[image]

    def argv(
        self, image: str, command: Sequence[str], environ: Mapping[str, str], mounts: Mapping[Path, str]
    ) -> list[str]:
        """A command line that runs a command as a container of this image would: its user, its tree read-only."""
        known = self.configuration(image)
        environ = dict(line.split("=", 1) for line in known["Env"] or []) | dict(environ)
        begin = ["env", "-i", "-C", known["WorkingDir"] or "/"]
        pairs = [str(part) for pair in mounts.items() for part in pair]
        variables = [f"{name}={value}" for name, value in environ.items()]
        argv = ["sh", "-c", _ENTER, "sh", str(self.tree(image)), *pairs, "--", *begin, *variables, *command]
        return self.builder.inside(*argv, home=self._home)

    def run(self, image: str, command: Sequence[str], **environ: str) -> subprocess.CompletedProcess[str]:
        argv = self.argv(image, command, environ, {})
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)

    def _call(self, *arguments: str) -> str:
        return self.as_builder(*self._buildah, *arguments).strip()


def _run(*argv: str | Path) -> str:
    ended = subprocess.run(
        [str(part) for part in argv], capture_output=True, text=True, timeout=1500, check=False, cwd="/"
    )
    assert ended.returncode == 0, f"{argv}\n{ended.stdout[-4000:]}{ended.stderr[-4000:]}"
    return ended.stdout
