"""That nobody notices a node that goes, a release that comes, or a Redis that is away."""

from collections.abc import Iterator, Sequence

from tests.deploy.kubernetes_rendering import Manifest, containers, named, of_kind, selects, workloads
from tests.deploy.kubernetes_rules import OURS, everywhere

# How long a server waits for open requests, and what either needs beyond: to give back what still runs, and to leave.
SERVER_STOPS_S = 10
BEYOND_S = 15
STARTS_S = 60


@everywhere
def answers_probes(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        for container in containers(template, also_first=False):
            probes = {kind: container.get(f"{kind}Probe", {}) for kind in ("startup", "liveness", "readiness")}
            paths = {kind: probe.get("httpGet", {}).get("path") for kind, probe in probes.items()}
            # Being alive is not a matter of Redis: all would be restarted at once when it is away.
            wanted = {"startup": "/livez", "liveness": "/livez", "readiness": "/ready"}
            if not all(probes.values()) or (container["name"] in OURS and paths != wanted):
                yield f"{name}/{container['name']}"
            ports = {port["name"] for port in container.get("ports", ())}
            for probe in probes.values():
                action = probe.get("httpGet") or probe.get("tcpSocket")
                # A host of its own would let a probe ask anybody in the network.
                if action and (action.get("port") not in ports or "host" in action or action.get("scheme")):
                    yield f"{name}/{container['name']}"
            if probes["startup"].get("periodSeconds", 10) * probes["startup"].get("failureThreshold", 3) < STARTS_S:
                yield f"{name}/{container['name']} is killed while it starts"


@everywhere
def has_time_to_drain(manifests: Sequence[Manifest]) -> Iterator[str]:
    drain_s, delay_s = (
        int(named(manifests, "ConfigMap", name)["data"].get(variable, default))
        for name, variable, default in (
            ("leaseforge-worker", "LEASEFORGE_DRAIN_SECONDS", "30"),
            ("leaseforge-server", "LEASEFORGE_STOP_DELAY", "0"),
        )
    )
    if delay_s < 5:
        yield "leaseforge-server stops before anybody knows"
    needed = {"leaseforge-worker": drain_s, "leaseforge-server": delay_s + SERVER_STOPS_S}
    for name, template in workloads(manifests):
        grace_s = template["spec"].get("terminationGracePeriodSeconds", 30)
        if grace_s < needed.get(name, 0) + BEYOND_S:
            yield f"{name}: {needed[name]} s to stop in, {grace_s} s of grace"


@everywhere
def loses_one_at_a_time_to_drained_nodes(manifests: Sequence[Manifest]) -> Iterator[str]:
    for deployment in of_kind(manifests, "Deployment"):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        budgets = [
            budget["spec"]
            for budget in of_kind(manifests, "PodDisruptionBudget")
            if selects(budget["spec"]["selector"], labels)
        ]
        if [(budget.get("maxUnavailable"), budget.get("minAvailable")) for budget in budgets] != [(1, None)]:
            yield deployment["metadata"]["name"]
        # One that cannot start, after a bad release, would hold up the drain of its node for ever.
        if any(budget.get("unhealthyPodEvictionPolicy") != "AlwaysAllow" for budget in budgets):
            yield deployment["metadata"]["name"]
    for single in of_kind(manifests, "StatefulSet"):
        labels = single["spec"]["template"]["metadata"]["labels"]
        for budget in of_kind(manifests, "PodDisruptionBudget"):
            if selects(budget["spec"]["selector"], labels):
                yield f"{budget['metadata']['name']} keeps the only pod of {single['metadata']['name']} where it is"


@everywhere
def is_replaced_without_a_gap(manifests: Sequence[Manifest]) -> Iterator[str]:
    for deployment in of_kind(manifests, "Deployment"):
        strategy = deployment["spec"].get("strategy", {})
        if strategy.get("rollingUpdate", {}).get("maxUnavailable") != 0 or strategy.get("type") == "Recreate":
            yield deployment["metadata"]["name"]


@everywhere
def is_scaled_by_one_only(manifests: Sequence[Manifest]) -> Iterator[str]:
    scalers = [
        (
            scaler["spec"]["scaleTargetRef"],
            scaler["spec"].get("minReplicas", scaler["spec"].get("minReplicaCount")),
        )
        for scaler in of_kind(manifests, "HorizontalPodAutoscaler", "ScaledObject")
    ]
    for deployment in of_kind(manifests, "Deployment"):
        name = deployment["metadata"]["name"]
        if "replicas" in deployment["spec"]:
            yield f"{name} names a number itself"
        itself = {"apiVersion": deployment["apiVersion"], "kind": deployment["kind"], "name": name}
        if [least for target, least in scalers if target == itself] != [2]:
            yield name
    for single in of_kind(manifests, "StatefulSet"):
        if single["spec"].get("replicas") != 1 or any(
            target["name"] == single["metadata"]["name"] for target, _ in scalers
        ):
            yield f"{single['metadata']['name']} is not one"


@everywhere
def spreads_over_nodes_and_zones(manifests: Sequence[Manifest]) -> Iterator[str]:
    for deployment in of_kind(manifests, "Deployment"):
        template = deployment["spec"]["template"]
        keys = {
            spread["topologyKey"]
            for spread in template["spec"].get("topologySpreadConstraints", ())
            if selects(spread["labelSelector"], template["metadata"]["labels"])
        }
        if keys != {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}:
            yield deployment["metadata"]["name"]
