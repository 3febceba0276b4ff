"""compose.yaml as Docker Compose itself reads it, which needs no Docker."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import unavailable

COMPOSE = Path(__file__).parents[2] / "deploy" / "compose"
# Where `.ci/ensure compose` puts it on machines without Docker.
_FETCHED = Path(__file__).parents[2] / ".venv" / "compose" / "compose" / "docker-compose"


@cache
def program() -> Sequence[str]:
    """The command that is Docker Compose of version 2.24 or later here."""
    for argv in (["docker", "compose"], ["docker-compose"], [str(_FETCHED)]):
        if shutil.which(argv[0]) is None:
            continue
        asked = subprocess.run([*argv, "version", "--short"], capture_output=True, text=True, timeout=60, check=False)
        version = asked.stdout.strip().removeprefix("v").split(".")
        if asked.returncode == 0 and (int(version[0]), int(version[1])) >= (2, 24):
            return argv
    unavailable("Docker Compose is not installed (.ci/ensure compose)")


def read(environ: Mapping[str, str] | None = None, *, file: Path = COMPOSE / "compose.yaml") -> dict[str, Any]:
    """Everything of a file, all profiles, with variables filled in. Fails with Compose's own words if it is wrong."""
    # Not the caller's variables, but the home and path it needs to run.
    own = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    argv = [*program(), "--file", str(file), "--env-file", os.devnull, "--profile", "*", "config", "--format", "json"]
    ended = subprocess.run(argv, env=own | dict(environ or {}), capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "is not set" not in ended.stderr, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def seconds(text: str) -> float:
    """A duration as Compose prints it (1m0s)."""
    total, number = 0.0, ""
    for character in text:
        if character in "hms":
            total += float(number) * {"h": 3600, "m": 60, "s": 1}[character]
            number = ""
        else:
            number += character
    return total
