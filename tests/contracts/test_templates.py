"""How templates are made and fit together; what keeps pages safe stands in tests/console/test_template_rules.py."""

import re
from pathlib import Path

import pytest
from jinja2 import nodes

from leaseforge_console.assets import StaticFiles, asset_dir
from leaseforge_console.settings import ConsoleSettings
from leaseforge_console.templating import environment

TEMPLATES = asset_dir("templates")
STATIC = asset_dir("static")
NAMES = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.html"))
ENVIRONMENT = environment(ConsoleSettings(version="0"), StaticFiles(STATIC))


def read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


@pytest.fixture(params=NAMES)
def template(request: pytest.FixtureRequest) -> str:
    return read(request.param)


def test_there_are_templates() -> None:
    assert len(NAMES) > 20


def test_htmx_attributes_of_forms_and_links_come_from_macros() -> None:
    for name in NAMES:
        if name != "macros/ui.html":
            found = re.findall(r"\bhx-(?:get|post|put|delete|patch)\b", read(name))
            assert not found, f"{name} uses {found}: let a macro of macros/ui.html write it"


def test_nothing_comes_from_another_host(template: str) -> None:
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', template)


def test_every_icon_button_says_what_it_does(template: str) -> None:
    for button in re.findall(r"<(?:button|a)\b[^>]*>\s*\{\{ icon\([^)]*\) \}\}\s*</(?:button|a)>", template):
        assert "aria-label=" in button, button


def test_tables_have_headers_with_a_scope(template: str) -> None:
    for header in re.findall(r"<th\b[^>]*>", template):
        assert "scope=" in header, header


def test_partials_extend_nothing_and_pages_extend_a_frame() -> None:
    for name in NAMES:
        is_page = name.startswith(("pages/", "layouts/")) or name in ("frame.html", "lone.html")
        assert ("{% extends" in read(name)) == is_page, name


def test_templates_calculate_nothing(template: str) -> None:
    tree = ENVIRONMENT.parse(template)
    # Geometry of the chart's labels, and milliseconds to seconds, are units and no logic.
    calculations = list(tree.find_all((nodes.Mul, nodes.Pow, nodes.FloorDiv, nodes.Mod)))
    assert not calculations
    assert not list(tree.find_all(nodes.ExprStmt))


@pytest.mark.parametrize("name", NAMES)
def test_every_template_is_used(name: str) -> None:
    sources = [*TEMPLATES.rglob("*.html"), *Path(asset_dir("templates")).parent.rglob("leaseforge_console/**/*.py")]
    used = any(f'"{name}"' in path.read_text(encoding="utf-8") for path in sources)
    assert used, f"nothing renders {name}"


def test_every_icon_that_is_used_exists() -> None:
    drawn = set(re.findall(r'<symbol id="i-([a-z]+)"', read("partials/shared/icons.html")))
    used = {icon for name in NAMES for icon in re.findall(r'(?:icon\("|#i-)([a-z]+)', read(name))}
    assert used <= drawn


def test_scripts_write_no_markup_and_keep_nothing_in_the_browser() -> None:
    for path in STATIC.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "localStorage"):
            assert word not in text, f"{path.name} uses {word}"
