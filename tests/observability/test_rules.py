"""deploy/observability by itself: rules tried by promtool, links that lead somewhere, a dashboard that is whole."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.observability.conftest import DEPLOY

ROOT = Path(__file__).parents[2]
RUNBOOK = ROOT / "docs" / "runbook"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "dashboards" / "leaseforge.json").read_text("utf-8"))


def rules() -> Iterator[dict[str, Any]]:
    for group in yaml.safe_load((DEPLOY / "prometheus" / "rules" / "leaseforge.yml").read_text("utf-8"))["groups"]:
        yield from group["rules"]


RULES = list(rules())


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "config", "prometheus.yml"),
        ("check", "rules", "rules/leaseforge.yml"),
        ("test", "rules", "tests/leaseforge.yml"),
    ],
    ids=" ".join,
)
def test_promtool_is_content(promtool: str, arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [promtool, *arguments], cwd=DEPLOY / "prometheus", capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    tried = yaml.safe_load((DEPLOY / "prometheus" / "tests" / "leaseforge.yml").read_text("utf-8"))["tests"]
    cases = [case for test in tried for case in test["alert_rule_test"]]
    names = {rule["alert"] for rule in RULES}

    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == names
    assert {case["alertname"] for case in cases if not case.get("exp_alerts")} == names


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    pages = {Path(rule["annotations"]["runbook_url"].rpartition("/")[2]).stem: rule["alert"] for rule in RULES}
    index = (ROOT / "docs" / "runbook.md").read_text("utf-8")

    assert sorted(pages) == sorted(path.stem for path in RUNBOOK.glob("*.md"))
    for page, alert in pages.items():
        assert (RUNBOOK / f"{page}.md").read_text("utf-8").startswith(f"# {alert}\n")
        assert f"[{alert}](runbook/{page}.md)" in index


@pytest.mark.parametrize("path", sorted(RUNBOOK.glob("*.md")), ids=lambda path: path.stem)
def test_a_page_says_what_it_means_where_to_look_what_to_do_and_whom_to_wake(path: Path) -> None:
    text = path.read_text("utf-8")

    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "What it means",
        "Where to look",
        "What to do",
        "Whom to wake",
    ]
    for command in re.findall(r"^leaseforge ([a-z-]+(?: [a-z-]+)?)", text, re.MULTILINE):
        assert command.split()[0] in COMMANDS, f"there is no `leaseforge {command}`"
    for name in re.findall(r"`((?:leaseforge)_\w+)`", text):
        assert f"`{name}`" in (ROOT / "docs" / "metrics.md").read_text("utf-8"), name


COMMANDS = {"queues", "jobs", "dlq", "enqueue", "login", "worker", "server", "users", "audit", "version"}


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DASHBOARD["panels"]
    return found


def test_panels_have_ids_places_and_data_of_their_own() -> None:
    assert len({panel["id"] for panel in panels()}) == len(panels())
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, f"{panel['title']} lies on another panel"
        taken |= cells
        if panel["type"] != "row":
            assert panel["targets"]
            assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


def test_the_dashboard_asks_for_data_source_and_queue() -> None:
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}

    assert set(variables) == {"datasource", "queue"}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["queue"]["definition"] == "label_values(leaseforge_queue_ready, queue)"


def test_sums_over_servers_are_taken_of_the_maximum() -> None:
    """Figures of the installation come from every server: a sum over servers would count them twice."""
    of_all = re.findall(r"^\| `(\w+)`", _section("Of the installation"), re.MULTILINE)
    expressions = [target["expr"] for panel in panels() for target in panel.get("targets", ())]
    for expression in (*expressions, *(rule["expr"] for rule in RULES)):
        for name in of_all:
            for found in re.finditer(rf"\b{name}\b", expression):
                before = expression[: found.start()]
                assert re.search(r"max(?: by \([a-z, ]+\))? ?\((?:(?:rate|increase)\()?$", before), expression


def _section(heading: str) -> str:
    text = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    return text.partition(f"## {heading}")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    "path", sorted((DEPLOY / "grafana" / "provisioning").rglob("*.yml")), ids=lambda path: path.parent.name
)
def test_provisioning_files_are_of_the_version_grafana_reads(path: Path) -> None:
    assert yaml.safe_load(path.read_text("utf-8"))["apiVersion"] == 1


DOCUMENTS = [
    *(ROOT / "docs" / name for name in ("metrics.md", "events.md", "runbook.md")),
    *sorted(RUNBOOK.glob("*.md")),
    DEPLOY / "README.md",
]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text("utf-8")):
        name, _, anchor = target.partition("#")
        linked = (path.parent / name).resolve() if name else path
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text("utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^a-z0-9 -]", "", one.lower()).replace(" ", "-") for one in headings}, target
