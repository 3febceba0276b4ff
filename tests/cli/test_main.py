import subprocess
import sys

import pytest

from leaseforge.errors import FieldProblem, SettingsError, StoreUnavailable, StoreUnsuitable
from leaseforge.server_binary import EmbeddedServerError
from leaseforge_cli.exits import CommandFailed, ExitCode, explain
from leaseforge_cli.main import COMMANDS, leaseforge, main


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from leaseforge_cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_help_lists_every_command_without_importing_any(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])

    assert ended.value.code == ExitCode.OK
    listed = capsys.readouterr().out
    assert all(f"\n  {name} " in listed for name in COMMANDS)


WEB = ("litestar", "uvicorn", "jinja2")
ENGINE = ("redis", "structlog")


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--help"], WEB + ENGINE),
        (["version"], WEB + ENGINE),
        *(([name, "--help"], WEB + ENGINE) for name in ("login", "enqueue", "jobs", "queues", "dlq", "loadgen")),
        *(([name, "--help"], WEB) for name in ("users", "audit", "dev", "worker")),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_loads_nothing_heavy_that_it_does_not_use(arguments: list[str], unwanted: tuple[str, ...]) -> None:
    script = (
        "import sys\nfrom leaseforge_cli.main import main\n"
        f"try: main({arguments})\n"
        f"finally: print([name for name in {unwanted} if name in sys.modules])\n"
    )

    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert output.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_listed_command_exists_and_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])

    assert ended.value.code == ExitCode.OK
    assert COMMANDS[name][1].split(":")[0].split(".")[0][:20] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["version", "--bogus"], "No such option"),
        (["dev", "--data-dir"], "requires an argument"),
    ],
)
def test_a_wrong_command_line_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == ExitCode.USAGE
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("leaseforge: ")
    assert said in line
    assert "--help shows how" in line


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CommandFailed("port 1 is in use", ExitCode.ADDRESS_IN_USE), ExitCode.ADDRESS_IN_USE),
        (SettingsError([FieldProblem("LEASEFORGE_X", "must be a number")]), ExitCode.SETTINGS),
        (StoreUnavailable("Redis is away"), ExitCode.STORE_UNAVAILABLE),
        (StoreUnsuitable("maxmemory-policy is allkeys-lru"), ExitCode.STORE_UNSUITABLE),
        (EmbeddedServerError("no server"), ExitCode.EMBEDDED_SERVER),
        (ModuleNotFoundError("No module named 'litestar'", name="litestar.app"), ExitCode.MISSING_EXTRA),
        (ZeroDivisionError("division by zero"), ExitCode.FAILED),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
    ],
)
def test_every_failure_is_one_line_and_its_own_exit_code(
    error: BaseException, code: ExitCode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(leaseforge, "main", fail)

    with pytest.raises(SystemExit) as ended:
        main([])

    assert ended.value.code == code
    printed = capsys.readouterr().err
    assert printed.count("\n") == (0 if code is ExitCode.INTERRUPTED else 1)
    assert "Traceback" not in printed


def test_a_missing_extra_is_named() -> None:
    message, _ = explain(ModuleNotFoundError("No module named 'argon2'", name="argon2"))

    assert "pip install 'leaseforge[server]'" in message


def test_a_traceback_can_be_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(leaseforge, "main", fail)
    monkeypatch.setenv("LEASEFORGE_TRACEBACK", "1")

    with pytest.raises(SystemExit):
        main([])

    assert "Traceback" in capsys.readouterr().err


def test_version_names_what_a_bug_report_needs() -> None:
    ended = run("version")

    assert ended.returncode == 0
    assert ended.stdout.startswith("leaseforge 0.")
    assert "\npython 3." in ended.stdout
    assert "\nredis " in ended.stdout
