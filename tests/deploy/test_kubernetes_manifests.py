"""The manifests against the schemas of Kubernetes and of the operators, against each other and what they copy."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]  # it has none
import pytest
import yaml

from tests.deploy.kubernetes_rendering import (
    KUBERNETES,
    NAMESPACE,
    ROOT,
    VARIANTS,
    Manifest,
    build,
    containers,
    named,
    of_kind,
    rendered,
    selects,
    workloads,
)
from tests.observability.conftest import program
from tests.support import unavailable

# The oldest release that knows all that is used, and the newest there is a schema of.
RELEASES = ("1.27", "1.37")
CUSTOM = {"keda.sh", "monitoring.coreos.com"}
MODELS = Path(sys.prefix) / "crd-models"
OBSERVABILITY = ROOT / "deploy" / "observability"


def is_custom(manifest: Manifest) -> bool:
    return manifest["apiVersion"].partition("/")[0] in CUSTOM


def customs() -> list[Manifest]:
    return [manifest for manifest in rendered("prod, scaled by what waits") if is_custom(manifest)]


@pytest.mark.parametrize("release", RELEASES)
def test_kubernetes_knows_every_field(release: str) -> None:
    # Overlays have most of theirs in common.
    different = {json.dumps(manifest): manifest for variant in VARIANTS for manifest in rendered(variant)}

    for manifest in different.values():
        if not is_custom(manifest):
            kubernetes_validate.validate(manifest, release, strict=True)


@pytest.mark.parametrize(
    "plant",
    [
        lambda worker: worker["spec"]["template"]["spec"].update(terminationGracePeriod=60),
        lambda worker: worker["spec"]["template"]["spec"]["containers"][0].pop("name"),
        lambda worker: worker["spec"].update(revisionHistoryLimit="five"),
    ],
    ids=["unknown", "missing", "of-another-type"],
)
def test_a_wrong_field_would_be_found(plant: Any) -> None:
    worker = deepcopy(named(rendered("prod"), "Deployment", "leaseforge-worker"))
    plant(worker)

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(worker, RELEASES[0], strict=True)


def against_models(resources: Sequence[Manifest]) -> list[list[str]]:
    """What is wrong with each, by the models of their operators."""
    if not MODELS.exists():
        unavailable("the models of custom resources are not installed: `.ci/ensure crd-models`")
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("crd_check.py")],
        input="".join(json.dumps(resource) + "\n" for resource in resources),
        env=os.environ | {"PYTHONPATH": str(MODELS)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_operators_know_every_field_and_a_wrong_one_would_be_found() -> None:
    resources = customs()
    wrong = deepcopy(resources)
    scaled = next(of_kind(wrong, "ScaledObject"))["spec"]
    scaled["pollingIntervall"] = 15
    scaled["maxReplicaCount"] = "many"
    monitor, other = of_kind(wrong, "ServiceMonitor")
    monitor["spec"]["endpoints"][0]["intervall"] = "15s"
    del other["spec"]["selector"]
    next(of_kind(wrong, "PrometheusRule"))["spec"]["groups"][0]["rules"][0]["expression"] = "up"

    kinds = sorted(resource["kind"] for resource in resources)
    assert kinds == ["PrometheusRule", "ScaledObject", "ServiceMonitor", "ServiceMonitor"]
    # One run for both: the models take seconds to load.
    told = against_models([*resources, *wrong])
    assert told[: len(resources)] == [[]] * len(resources)
    found = dict.fromkeys(kinds, "")
    for resource, problems in zip(wrong, told[len(resources) :], strict=True):
        assert problems, resource
        found[resource["kind"]] += "\n".join(problems)
    assert "maxReplicaCount" in found["ScaledObject"]
    assert "endpoints[0].intervall: unknown" in found["ServiceMonitor"]
    assert "spec.selector" in found["ServiceMonitor"]
    assert "rules[0].expression: unknown" in found["PrometheusRule"]


def test_nothing_else_stands_in_the_folder() -> None:
    used = set()
    for kustomization in KUBERNETES.rglob("kustomization.yaml"):
        content = yaml.safe_load(kustomization.read_text("utf-8"))
        paths = [*content.get("resources", ()), *content.get("components", ())]
        paths += [patch["path"] for patch in content.get("patches", ()) if "path" in patch]
        paths += [file for config in content.get("configMapGenerator", ()) for file in config.get("files", ())]
        used |= {(kustomization.parent / path).resolve() for path in paths} | {kustomization.resolve()}
    others = {"README.md", "kind-config.yaml", "make-secrets", "make-rule"}

    assert {path.name for path in KUBERNETES.rglob("*") if path.is_file() and path.resolve() not in used} == others


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_named_is_there(variant: str) -> None:
    manifests = rendered(variant)
    names = {(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests}
    ports = {
        name: {port["name"] for container in containers(template) for port in container.get("ports", ())}
        for name, template in workloads(manifests)
    }
    labels = {name: template["metadata"]["labels"] for name, template in workloads(manifests)}

    for manifest in manifests:
        assert manifest["kind"] == "Namespace" or manifest["metadata"]["namespace"] == NAMESPACE
    for name, template in workloads(manifests):
        for container in containers(template):
            for source in container.get("envFrom", ()):
                assert ("ConfigMap", source["configMapRef"]["name"]) in names
            mounted = {mount["name"] for mount in container["volumeMounts"]}
            claimed = {"data"} if name == "leaseforge-redis" else set()
            assert mounted <= {volume["name"] for volume in template["spec"]["volumes"]} | claimed
        for volume in template["spec"]["volumes"]:
            assert "configMap" not in volume or ("ConfigMap", volume["configMap"]["name"]) in names
    for manifest in of_kind(manifests, "Deployment", "StatefulSet"):
        assert selects(manifest["spec"]["selector"], labels[manifest["metadata"]["name"]])
    for service in of_kind(manifests, "Service"):
        name = service["metadata"]["name"]
        behind = [each for each in labels if selects({"matchLabels": service["spec"]["selector"]}, labels[each])]
        assert behind == [name]
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports[name]
    for scaler in of_kind(manifests, "HorizontalPodAutoscaler", "ScaledObject"):
        assert ("Deployment", scaler["spec"]["scaleTargetRef"]["name"]) in names
    for ingress in of_kind(manifests, "Ingress"):
        [backend] = [path["backend"]["service"] for path in ingress["spec"]["rules"][0]["http"]["paths"]]
        service = named(manifests, "Service", backend["name"])
        assert backend["port"]["name"] in {port["name"] for port in service["spec"]["ports"]}
    for monitor in of_kind(manifests, "ServiceMonitor"):
        name = monitor["metadata"]["name"]
        service = named(manifests, "Service", name)
        assert selects(monitor["spec"]["selector"], service["metadata"]["labels"])
        [endpoint] = monitor["spec"]["endpoints"]
        assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
        assert {"targetLabel": "job", "replacement": name} in endpoint["relabelings"]
    for policy in of_kind(manifests, "NetworkPolicy"):
        chosen = [name for name in labels if selects(policy["spec"]["podSelector"], labels[name])]
        assert chosen, policy["metadata"]["name"]
        for rule in policy["spec"].get("ingress", ()):
            for port in {port["port"] for port in rule["ports"] if isinstance(port["port"], str)}:
                assert all(port in ports[name] for name in chosen)


def reaches(manifests: Sequence[Manifest], source: str, target: str) -> bool:
    """Whether the network policies let one workload speak to the other."""
    labels = {name: template["metadata"]["labels"] for name, template in workloads(manifests)}
    policies = [policy["spec"] for policy in of_kind(manifests, "NetworkPolicy")]

    def allowed(direction: str, peers: str, of: str, other: str) -> bool:
        return any(
            selects(peer["podSelector"], labels[other])
            for policy in policies
            if selects(policy["podSelector"], labels[of])
            for rule in policy.get(direction, ())
            for peer in rule[peers]
            if "podSelector" in peer and "namespaceSelector" not in peer
        )

    return allowed("egress", "to", source, target) and allowed("ingress", "from", target, source)


def test_only_servers_and_workers_reach_redis_and_nobody_else_anybody() -> None:
    names = ("leaseforge-server", "leaseforge-worker", "leaseforge-redis")
    pairs = {(one, other) for one in names for other in names if reaches(rendered("base"), one, other)}

    assert pairs == {("leaseforge-server", "leaseforge-redis"), ("leaseforge-worker", "leaseforge-redis")}


def test_kind_opens_the_address_its_server_is_told_and_to_this_machine_only() -> None:
    cluster = yaml.safe_load((KUBERNETES / "kind-config.yaml").read_text("utf-8"))
    [opened] = [mapping for node in cluster["nodes"] for mapping in node.get("extraPortMappings", ())]
    told = named(rendered("kind"), "ConfigMap", "leaseforge-server")["data"]

    assert opened["listenAddress"] == "127.0.0.1"
    assert told["LEASEFORGE_WEB_URL"] == f"http://{opened['listenAddress']}:{opened['hostPort']}"
    assert told["LEASEFORGE_TRUSTED_PROXIES"] == cluster["networking"]["podSubnet"]


def test_components_that_production_offers_are_those_that_are_tried() -> None:
    text = (KUBERNETES / "overlays" / "prod" / "kustomization.yaml").read_text("utf-8")
    offered = yaml.safe_load("\n".join(re.findall(r"^# (components:|  - .+)$", text, re.MULTILINE)))

    _, tried = VARIANTS["prod, scaled by what waits"]
    assert offered == {"components": [f"../../components/{name}" for name in tried]}
    assert {path.name for path in (KUBERNETES / "components").iterdir()} == set(tried)


def test_alerts_are_those_of_observability(tmp_path: Path) -> None:
    rules = OBSERVABILITY / "prometheus" / "rules" / "leaseforge.yml"
    rule = next(of_kind(rendered("kind, watched"), "PrometheusRule"))
    anew = tmp_path / "anew.yaml"
    subprocess.run([KUBERNETES / "components/monitoring/make-rule", anew], timeout=60, check=True)

    assert rule["spec"] == yaml.safe_load(rules.read_text("utf-8"))
    made = (KUBERNETES / "components" / "monitoring" / "prometheus-rule.yaml").read_text("utf-8")
    assert made == anew.read_text("utf-8"), "run deploy/kubernetes/components/monitoring/make-rule"


def queries() -> dict[str, str]:
    scaled = next(of_kind(customs(), "ScaledObject"))
    return {trigger["name"]: trigger["metadata"]["query"] for trigger in scaled["spec"]["triggers"]}


def test_what_scales_workers_asks_for_metrics_there_are() -> None:
    listed = (ROOT / "docs" / "metrics.md").read_text("utf-8")

    for query in queries().values():
        for name in re.findall(r"leaseforge_\w+", query):
            assert f"| `{name}` |" in listed, name
        assert set(re.findall(r'namespace="(\w+)"', query)) == {NAMESPACE}


def test_workers_are_wanted_for_what_waits_in_queues_that_are_not_paused(tmp_path: Path) -> None:
    """Two servers tell the same figures; the figures without any series are 0."""

    def figures(metric: str, values: Mapping[str, int]) -> list[dict[str, str]]:
        return [
            {
                "series": f'leaseforge_{metric}{{namespace="{namespace}", instance="{instance}", queue="{queue}"}}',
                "values": str(value * (1 if namespace == NAMESPACE else 1000)),
            }
            for queue, value in values.items()
            for namespace, instance in ((NAMESPACE, "one"), (NAMESPACE, "two"), ("other", "one"))
        ]

    def test(series: list[dict[str, str]], expected: Mapping[str, int]) -> dict[str, Any]:
        return {
            "interval": "1m",
            "input_series": series,
            "promql_expr_test": [
                {"expr": queries()[name], "eval_time": "0m", "exp_samples": [{"labels": "{}", "value": value}]}
                for name, value in expected.items()
            ],
        }

    full = [
        *figures("queue_ready", {"mail": 70, "reports": 50, "paused": 900}),
        *figures("queue_oldest_ready_seconds", {"mail": 12, "reports": 45, "paused": 7000}),
        *figures("queue_paused", {"mail": 0, "reports": 0, "paused": 1}),
    ]
    tests = [test(full, {"depth": 120, "oldest": 45}), test([], {"depth": 0, "oldest": 0})]
    file = tmp_path / "triggers.yml"
    file.write_text(yaml.safe_dump({"rule_files": [], "tests": tests}), encoding="utf-8")

    done = subprocess.run(
        [program("promtool"), "test", "rules", file], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_folder_that_is_named_in_the_docs_is_one_to_apply() -> None:
    pages = [KUBERNETES / "README.md", ROOT / "docs" / "kubernetes.md", ROOT / "README.md"]
    folders = {
        folder for page in pages for folder in re.findall(r"apply -k (deploy/kubernetes/\S+)", page.read_text("utf-8"))
    }

    assert folders >= {"deploy/kubernetes/overlays/kind"}
    for folder in folders:
        assert build(ROOT / folder)
