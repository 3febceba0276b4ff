"""A real Prometheus scrapes two servers and three workers; panels, rules and documents ask for what is there."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.observability.conftest import DEPLOY, Installation, Prometheus
from tests.support import eventually_sync

ROOT = Path(__file__).parents[2]
VARIABLES = {"$__rate_interval": "1m", "$__range": "1h", "$queue": ".*"}
_NAME = re.compile(r"\b(?:leaseforge_\w+|up)\b")


def panel_expressions() -> Iterator[tuple[str, str]]:
    """Title and expression of every target of every panel, with Grafana's variables filled in."""
    dashboard = json.loads((DEPLOY / "grafana" / "dashboards" / "leaseforge.json").read_text("utf-8"))
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            assert "$" not in expression, expression
            yield panel["title"], expression


def rule_expressions() -> Iterator[tuple[str, str]]:
    """Name and expression of every alert."""
    rules = yaml.safe_load((DEPLOY / "prometheus" / "rules" / "leaseforge.yml").read_text("utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


def test_every_process_is_scraped(prometheus: Prometheus) -> None:
    assert prometheus.number('count(up{job="leaseforge-server"} == 1)') == 2
    assert prometheus.number('count(up{job="leaseforge-worker"} == 1)') == 3
    assert prometheus.number("count(count by (instance, process) (leaseforge_worker_slots))") == 4


def test_several_servers_and_workers_do_not_count_twice(installation: Installation, prometheus: Prometheus) -> None:
    expected = {
        "sum(max by (queue) (leaseforge_tasks_enqueued_total))": installation.enqueued,
        "sum(max by (queue) (leaseforge_tasks_processed_total))": installation.completed,
        "sum(max by (queue) (leaseforge_tasks_retried_total))": installation.retried,
        "sum(max by (queue) (leaseforge_tasks_dead_lettered_total))": installation.dead,
        "sum(leaseforge_worker_settled_jobs_total)": installation.completed + installation.retried + installation.dead,
        'sum(leaseforge_worker_settled_jobs_total{state="completed"})': installation.completed,
        # Types nobody has a handler for never began.
        "sum(leaseforge_task_duration_seconds_count)": installation.completed + 2 * installation.retried,
        "sum(leaseforge_task_wait_seconds_count)": installation.completed + 2 * installation.retried,
        'max(leaseforge_queue_consumers{queue="mail"})': 4,
        'max(leaseforge_queue_consumers{queue="nobody"})': 0,
        'max(leaseforge_workers{state="running"})': 4,
        # Every server tells the same.
        "count(count by (queue, instance) (leaseforge_tasks_enqueued_total))": 3 * len(installation.servers),
        'count(leaseforge_tasks_processed_total{queue="mail"} == 58)': len(installation.servers),
    }

    def seen() -> dict[str, float | None]:
        return {expression: prometheus.number(expression) for expression in expected}

    try:
        eventually_sync(lambda: seen() == expected, within_s=30)
    except AssertionError:
        assert seen() == expected
        raise


def test_every_panel_shows_something_and_every_rule_asks_for_what_exists(prometheus: Prometheus) -> None:
    names = set(prometheus.ask("label/__name__/values"))
    expressions = [*panel_expressions(), *rule_expressions()]
    assert len(expressions) > 50

    missing = {(what, name) for what, expression in expressions for name in _NAME.findall(expression)}
    assert {(what, name) for what, name in missing if name not in names} == set()
    assert [what for what, expression in panel_expressions() if not prometheus.query(expression)] == []
    for _, expression in rule_expressions():
        prometheus.query(expression)


def test_only_the_queue_without_a_worker_is_complained_about(prometheus: Prometheus) -> None:
    eventually_sync(lambda: prometheus.query("ALERTS"), within_s=30)

    complaints = {(one["metric"]["alertname"], one["metric"].get("queue")) for one in prometheus.query("ALERTS")}

    assert complaints == {("LeaseforgeNoConsumer", "nobody")}


def test_each_page_is_as_prometheus_wants_it(installation: Installation, promtool: str) -> None:
    for url, page in installation.pages().items():
        done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), url


def test_names_callers_chose_make_no_series(installation: Installation) -> None:
    for page in installation.pages().values():
        assert "made-up" not in page
        assert "canary" not in page


# What each table of docs/metrics.md is about, by its heading.
SERVER, WORKER, ANY = "Of the installation (servers)|Of a server process", "Of a worker process", "Of any process"


def documented(headings: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Type and labels of each family in the sections with these headings."""
    sections = re.split(r"^## ", (ROOT / "docs" / "metrics.md").read_text("utf-8"), flags=re.MULTILINE)
    rows: dict[str, tuple[str, frozenset[str]]] = {}
    for section in sections:
        if section.partition("\n")[0] in headings.split("|"):
            for name, kind, labels in re.findall(r"^\| `(\w+)` \| (\w+) \|([^|\n]*)\|", section, re.MULTILINE):
                assert name not in rows
                rows[name] = (kind, frozenset(re.findall(r"`(\w+)`", labels)))
    return rows


def shown(page: str) -> dict[str, tuple[str, frozenset[str]]]:
    """The same of a page."""
    found = {}
    for family in text_string_to_metric_families(page):
        if family.name.startswith("process_") or family.name == "leaseforge_loop_crashes":
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert family.samples, f"{name} has no sample here: the test is to bring one about"
        assert family.documentation
        found[name] = (family.type, frozenset(label for one in family.samples for label in one.labels if label != "le"))
    return found


@pytest.mark.parametrize("part", ["server", "worker", "parent"])
def test_the_document_lists_what_each_process_tells(installation: Installation, part: str) -> None:
    pages = installation.pages()
    url = {"server": installation.servers[0], "worker": installation.workers[0], "parent": installation.workers[2]}[
        part
    ]
    expected = documented(f"{SERVER if part == 'server' else WORKER}|{ANY}")
    if part == "parent":
        own = {name for name in expected if name.startswith("leaseforge_worker_process")}
        expected = {
            name: (kind, labels if name in own else labels | {"process"}) for name, (kind, labels) in expected.items()
        }
    else:
        for name in [name for name in expected if name.startswith("leaseforge_worker_process")]:
            del expected[name]

    # None of these loops has crashed: only the family is there.
    assert "# TYPE leaseforge_loop_crashes_total counter" in pages[url]
    del expected["leaseforge_loop_crashes_total"]

    assert shown(pages[url]) == expected


def test_what_a_part_logs_is_json_and_holds_no_secret(installation: Installation) -> None:
    for process in installation.processes:
        lines = process.output().splitlines()
        assert lines
        loggers = {json.loads(line)["logger"].partition(".")[0] for line in lines}
        assert loggers <= {
            "leaseforge",
            "leaseforge_api",
            "leaseforge_auth",
            "leaseforge_console",
            "leaseforge_worker",
            "uvicorn",
        }
        assert "canary" not in process.output()
    assert any('"logger": "uvicorn.error"' in process.output() for process in installation.processes)
