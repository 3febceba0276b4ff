"""The kept login: for nobody's eyes but its user's, and for no server but its own."""

import json
import stat
from pathlib import Path

import pytest

from leaseforge_cli.exits import ExitCode
from tests.cli.conftest import PASSWORD, Api, Run


@pytest.fixture
def url(api_process: Api) -> str:
    return api_process.url


def log_in(run: Run, url: str) -> None:
    assert run("login", "--url", url, "--user", "admin", stdin=f"{PASSWORD}\n".encode()).code == ExitCode.OK


def kept(config_home: Path) -> Path:
    return config_home / "leaseforge" / "login.json"


def test_a_login_is_kept_for_its_user_only_and_commands_use_it(run: Run, url: str, config_home: Path) -> None:
    log_in(run, url)

    file = kept(config_home)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["login.json"]
    assert PASSWORD not in file.read_text()
    assert run("queues", "list").code == ExitCode.OK


def test_a_wrong_password_keeps_nothing(run: Run, url: str, config_home: Path) -> None:
    failed = run("login", "--url", url, "--user", "nobody", stdin=b"wrong\n")

    assert failed.code == ExitCode.NOT_LOGGED_IN
    assert failed.err.count("\n") == 1
    assert not kept(config_home).exists()


def test_an_api_token_is_kept_likewise(run: Run, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEASEFORGE_TOKEN")

    logged_in = run("login", "--token", stdin=f"{api.token}\n".encode())

    assert logged_in.code == ExitCode.OK
    assert f"logged in to {api.url} as admin (admin)" in logged_in.out
    assert api.token not in logged_in.out
    assert run("queues", "list").code == ExitCode.OK


def test_without_a_login_commands_say_so(run: Run) -> None:
    failed = run("queues", "list")

    assert (failed.code, failed.out) == (ExitCode.NOT_LOGGED_IN, "")
    assert "leaseforge login" in failed.err


def test_the_environment_wins_over_the_kept_login(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(run, url)
    monkeypatch.setenv("LEASEFORGE_TOKEN", "lf_wrong")

    assert run("queues", "list").code == ExitCode.NOT_LOGGED_IN


def test_a_kept_token_is_sent_to_no_other_server(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(run, url)
    monkeypatch.setenv("LEASEFORGE_API_URL", "http://127.0.0.1:9")

    failed = run("queues", "list")

    assert failed.code == ExitCode.NOT_LOGGED_IN
    assert f"the kept login is for {url}" in failed.err


def test_a_login_others_could_read_is_not_used(run: Run, url: str, config_home: Path) -> None:
    log_in(run, url)
    kept(config_home).chmod(0o640)

    failed = run("queues", "list")

    assert failed.code == ExitCode.NOT_LOGGED_IN
    assert "others may read" in failed.err


def test_a_damaged_login_is_told(run: Run, url: str, config_home: Path) -> None:
    log_in(run, url)
    kept(config_home).write_text('{"url": 1}')

    failed = run("queues", "list")

    assert failed.code == ExitCode.NOT_LOGGED_IN
    assert "cannot be read" in failed.err


def test_logging_out_ends_the_token_too(run: Run, url: str, config_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(run, url)
    token = json.loads(kept(config_home).read_text())["token"]

    assert run("logout").code == ExitCode.OK

    assert not kept(config_home).exists()
    assert run("logout").out == "not logged in\n"
    monkeypatch.setenv("LEASEFORGE_API_URL", url)
    monkeypatch.setenv("LEASEFORGE_TOKEN", token)
    assert run("queues", "list").code == ExitCode.NOT_LOGGED_IN


@pytest.mark.parametrize(
    "wrong", ["example.com", "ftp://example.com", "http://", "http://u:p@host", "http://h/?q", "http://h:x"]
)
def test_a_wrong_address_is_a_wrong_command_line(run: Run, wrong: str) -> None:
    failed = run("login", "--url", wrong)

    assert failed.code == ExitCode.USAGE
    assert "must be the address of a server" in failed.err


def test_an_unencrypted_way_is_warned_of(run: Run) -> None:
    failed = run("login", "--url", "http://jobs.invalid", "--token", stdin=b"")

    assert "http://jobs.invalid is not encrypted" in failed.err
