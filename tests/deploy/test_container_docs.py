"""Lines of docs/containers.md that people paste, run against a docker whose Redis is a process of this machine."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from leaseforge_auth.settings import auth_secrets
from tests.deploy.composition import COMPOSE
from tests.deploy.dockerfile import ROOT
from tests.support import eventually_sync, free_port
from tests.support.servers import chosen_binary

PAGE = (ROOT / "docs" / "containers.md").read_text("utf-8")
# `stop` and `start` are for Redis here; `run` runs what the container would, on the folder that is its volume.
DOCKER = """#!/bin/sh
set -eu
here={here}
case "$1 $2" in
"compose stop")
    kill "$(cat $here/redis.pid)"
    while [ -e $here/redis.pid ]; do sleep 0.05; done
    ;;
"compose start")
    {redis} $here/redis.conf --port {port} --bind 127.0.0.1 --daemonize yes --pidfile $here/redis.pid >/dev/null
    ;;
"compose run")
    [ ! -e $here/redis.pid ] || {{ echo "Redis runs" >&2; exit 1; }}
    while [ "$1" != redis ]; do [ "$1" != --entrypoint ] || program=$2; shift; done
    shift
    for argument; do
        set -- "$@" "$(printf %s "$argument" | sed "s#/data#$here/data#g")"
        shift
    done
    exec "$program" "$@"
    ;;
"compose up") ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""


def commands(text: str) -> str:
    """The one block of commands with this text in it, as printed."""
    [block] = [
        block for block in re.findall(r"^ *```sh\n(.*?)^ *```$", PAGE, re.MULTILINE | re.DOTALL) if text in block
    ]
    return str(block)


class Machine:
    """A folder with secrets, a docker on PATH, and the Redis that it starts and stops."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        (folder / "data").mkdir()
        text = (COMPOSE / "redis.conf").read_text("utf-8").replace("dir /data", f"dir {folder}/data")
        (folder / "redis.conf").write_text(text.replace("aclfile /run/secrets/redis_acl", ""))
        docker = folder / "bin" / "docker"
        docker.parent.mkdir()
        docker.write_text(DOCKER.format(here=folder, port=self.port, redis=chosen_binary().path))
        docker.chmod(0o755)

    def paste(self, block: str) -> None:
        environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        ended = subprocess.run(
            ["bash", "-euc", block],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr

    def redis(self) -> redis.Redis:
        """A connection, once it answers."""
        client = redis.Redis(port=self.port, decode_responses=True)

        def answers() -> bool:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

        eventually_sync(answers, within_s=60)
        return client


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    subprocess.run(["sh", COMPOSE / "make-secrets", tmp_path / "secrets"], capture_output=True, timeout=60, check=True)
    yield made
    if (tmp_path / "redis.pid").exists():
        made.paste("docker compose stop redis")


def test_a_backup_brings_back_what_there_was(machine: Machine) -> None:
    machine.paste("docker compose start redis")
    with machine.redis() as client:
        client.mset({f"lf:{number}": number for number in range(1000)})
        client.bgrewriteaof()
        client.set("lf:last", "accepted")
    machine.paste(commands("--entrypoint tar redis"))
    with machine.redis() as client:
        client.flushall()
        client.set("lf:later", "lost")

    machine.paste(commands("--entrypoint sh redis"))

    with machine.redis() as client:
        assert client.dbsize() == 1001
        assert client.get("lf:last") == "accepted"


def test_a_secret_is_replaced_with_the_old_one_beside_it(machine: Machine) -> None:
    secrets = machine.folder / "secrets"
    before = auth_secrets((secrets / "auth_secret").read_text())

    machine.paste(commands("{ openssl rand"))

    after = auth_secrets((secrets / "auth_secret").read_text())
    assert (len(after), after[1:]) == (2, before)
    assert secrets.joinpath("auth_secret").stat().st_mode & 0o777 == 0o444


def test_another_redis_takes_the_place_of_ours(machine: Machine) -> None:
    secrets = machine.folder / "secrets"

    machine.paste(commands("rm -f secrets/redis_url"))

    assert (secrets / "redis_url").read_text() == "rediss://leaseforge:PASSWORD@redis.example.com:6379/0"
    assert secrets.joinpath("redis_url").stat().st_mode & 0o777 == 0o444
