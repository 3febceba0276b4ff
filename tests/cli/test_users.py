"""`leaseforge users`: the accounts of an installation, from the machine it runs on."""

import sys
from collections.abc import Callable

import pytest

from leaseforge_cli.exits import ExitCode
from tests.support import Process

SECRET = "for-this-test-only-and-no-secret-of-anything"
Run = Callable[..., Process]


@pytest.fixture
def users(processes: Callable[..., Process], redis_url: str) -> Run:
    def run(*arguments: str, group: str = "users") -> Process:
        command = [sys.executable, "-c", "from leaseforge_cli.main import main; main()", group, *arguments]
        return processes(command, env={"LEASEFORGE_REDIS_URL": redis_url, "LEASEFORGE_AUTH_SECRET": SECRET})

    return run


def said(process: Process) -> str:
    assert process.wait() == ExitCode.OK, process.output()
    return process.output()


def test_an_account_from_its_making_to_its_end(users: Run) -> None:
    made = said(users("create", "ada", "--role", "admin", "--generate"))
    password = made.rpartition("password: ")[2].strip()
    assert len(password) == 20
    said(users("create", "bob", "--role", "viewer", "--role", "producer", "--generate"))

    listed = said(users("list"))
    assert "ada" in listed
    assert "viewer,producer" in listed
    assert password not in listed

    last = users("disable", "ada")
    assert last.wait() == ExitCode.FAILED
    assert "last enabled administrator" in last.output()
    said(users("roles", "bob", "--role", "admin"))
    said(users("disable", "ada"))
    assert "disabled" in said(users("list"))
    said(users("enable", "ada"))
    said(users("logout", "ada"))
    assert said(users("password", "ada", "--generate")).rpartition("password: ")[2].strip() != password
    said(users("delete", "ada", "--yes"))
    assert "ada" not in said(users("list"))

    trail = said(users("export", group="audit"))
    assert trail.count('"result":"ok"') == 8
    assert trail.count('"result":"refused"') == 1
    assert '"credential":"cli"' in trail
    assert password not in trail


def test_a_password_is_never_taken_from_nothing(users: Run) -> None:
    asked = users("create", "ada", "--role", "viewer")

    assert asked.wait() == ExitCode.USAGE
    assert "--generate" in asked.output()


def test_a_name_that_cannot_be_is_explained(users: Run) -> None:
    asked = users("create", "a b", "--role", "viewer", "--generate")

    assert asked.wait() == ExitCode.FAILED
    assert "begin with a letter or digit" in asked.output()
