"""docs/configuration.md says what the code reads: every setting, its default, who reads it, whether it is a secret."""

import dataclasses
import importlib
import pkgutil
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import leaseforge
import leaseforge_api
import leaseforge_auth
import leaseforge_cli
import leaseforge_console
import leaseforge_worker
from leaseforge.settings import Setting, declared
from leaseforge_cli.exits import ExitCode

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"
PACKAGES = (leaseforge, leaseforge_api, leaseforge_auth, leaseforge_cli, leaseforge_console, leaseforge_worker)
READERS = {
    "leaseforge.settings": "server",
    "leaseforge.process_settings": "server, worker",
    "leaseforge.tracing_settings": "server, worker",
    "leaseforge_api.settings": "server",
    "leaseforge_auth.settings": "server",
    "leaseforge_auth.oidc.settings": "server",
    "leaseforge_worker.settings": "worker",
    "leaseforge_cli.client_settings": "client",
    "leaseforge_cli.settings": "dev",
}
UNSET = (dataclasses.MISSING, None, "", ())


@dataclass(frozen=True, slots=True)
class Declaration:
    """One field of one settings class."""

    setting: Setting
    default: Any
    reader: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table of settings."""

    default: str
    readers: frozenset[str]
    is_secret: bool


def declarations() -> dict[str, list[Declaration]]:
    found: dict[str, list[Declaration]] = {}
    for package in PACKAGES:
        for module_info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module_info.name.endswith("settings"):
                continue
            module = importlib.import_module(module_info.name)
            for cls in vars(module).values():
                if not isinstance(cls, type) or not dataclasses.is_dataclass(cls) or cls.__module__ != module.__name__:
                    continue
                defaults = {field.name: field.default for field in dataclasses.fields(cls)}
                for name, setting in declared(cls).items():
                    for reader in READERS[module.__name__].split(", "):
                        found.setdefault(setting.env, []).append(Declaration(setting, defaults[name], reader))
    return found


def rows() -> dict[str, Row]:
    section = DOCUMENT.read_text(encoding="utf-8").split("## Settings")[1].split("\n## ")[0]
    found = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 4 and (name := re.fullmatch(r"`((?:LEASEFORGE|OTEL)_\w+)`", cells[0])):
            assert name[1] not in found, f"{name[1]} has two rows"
            found[name[1]] = Row(cells[1], frozenset(cells[2].split(", ")), cells[3].startswith("*secret*"))
    return found


def test_every_setting_is_documented_and_nothing_else_is() -> None:
    assert sorted(rows()) == sorted(declarations())


@pytest.mark.parametrize("name", sorted(declarations()))
def test_a_row_tells_the_default_the_readers_and_whether_it_is_a_secret(name: str) -> None:
    row, declared_by = rows()[name], declarations()[name]

    assert row.readers == {declaration.reader for declaration in declared_by}
    assert row.is_secret == any(declaration.setting.secret for declaration in declared_by)
    written = re.match(r"`([^`]+)`", row.default)
    for declaration in declared_by:
        if declaration.default in UNSET:
            continue
        assert written is not None, f"{name} has the default {declaration.default!r}"
        assert declaration.setting.parse(written[1]) == declaration.default
    if written is not None:
        assert any(declaration.default not in UNSET for declaration in declared_by)


def test_a_secret_is_a_secret_for_every_reader() -> None:
    for name, declared_by in declarations().items():
        assert len({declaration.setting.secret for declaration in declared_by}) == 1, name


def test_every_setting_carries_the_prefix_and_explains_itself() -> None:
    for name, declared_by in declarations().items():
        # OpenTelemetry's standard names stay what they are.
        assert re.fullmatch(r"(LEASEFORGE|OTEL)_[A-Z][A-Z_]*[A-Z]", name)
        assert all(len(declaration.setting.help) > 10 for declaration in declared_by)


def test_every_exit_code_is_documented() -> None:
    section = DOCUMENT.read_text(encoding="utf-8").split("## Exit codes")[1].split("\n## ")[0]

    assert [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)] == [
        code.value for code in ExitCode
    ]


def test_names_of_both_forerunners_lead_to_settings_that_exist() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    mapped = set(re.findall(r"LEASEFORGE_\w+", text.split("## Coming from TaskForge")[1]))

    assert mapped <= set(declarations())
    for name in ("PORT_PRODUCER", "PORT_WORKER", "WORKER_COUNT", "TASK_VISIBILITY_TIMEOUT", "TASK_RETRY_BASE_DELAY"):
        assert f"`{name}`" in text
