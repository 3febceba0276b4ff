"""What every manifest of deploy/kubernetes keeps to: one function a rule, which names what breaks it."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.deploy.kubernetes_rendering import Manifest, containers, named, of_kind, selects, workloads

Rule = Callable[[Sequence[Manifest]], Iterator[str]]
EVERYWHERE: dict[str, Rule] = {}
IN_PRODUCTION: dict[str, Rule] = {}
# How long a server waits for open requests, and what either needs beyond: to give back what still runs, and to leave.
SERVER_STOPS_S = 10
BEYOND_S = 15
OURS = {"server", "worker"}


def everywhere(rule: Rule) -> Rule:
    EVERYWHERE[rule.__name__] = rule
    return rule


def in_production(rule: Rule) -> Rule:
    IN_PRODUCTION[rule.__name__] = rule
    return rule


def _all_containers(manifests: Sequence[Manifest]) -> Iterator[tuple[str, Manifest]]:
    for name, template in workloads(manifests):
        for container in containers(template):
            yield f"{name}/{container['name']}", container


@everywhere
def runs_as_a_user_that_is_not_root(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        pod = template["spec"].get("securityContext", {})
        if pod.get("runAsNonRoot") is not True or not pod.get("runAsUser") or not pod.get("runAsGroup"):
            yield name
    for where, container in _all_containers(manifests):
        own = container.get("securityContext", {})
        if own.get("runAsNonRoot", True) is not True or own.get("runAsUser", 1) == 0 or own.get("runAsGroup", 1) == 0:
            yield where


@everywhere
def has_a_read_only_root(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in _all_containers(manifests):
        if container.get("securityContext", {}).get("readOnlyRootFilesystem") is not True:
            yield where


@everywhere
def has_no_capabilities(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in _all_containers(manifests):
        if container.get("securityContext", {}).get("capabilities") != {"drop": ["ALL"]}:
            yield where


@everywhere
def gains_no_rights(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in _all_containers(manifests):
        own = container.get("securityContext", {})
        if own.get("allowPrivilegeEscalation") is not False or own.get("privileged"):
            yield where


@everywhere
def is_under_seccomp(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        if template["spec"].get("securityContext", {}).get("seccompProfile") != {"type": "RuntimeDefault"}:
            yield name
    for where, container in _all_containers(manifests):
        if "seccompProfile" in container.get("securityContext", {}):
            yield where


@everywhere
def shares_nothing_with_its_node(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        if any(template["spec"].get(flag) for flag in ("hostNetwork", "hostPID", "hostIPC")):
            yield name
        yield from (
            f"{name}/{volume['name']}" for volume in template["spec"].get("volumes", ()) if "hostPath" in volume
        )
    for where, container in _all_containers(manifests):
        if any("hostPort" in port for port in container.get("ports", ())):
            yield where


@everywhere
def has_an_account_of_its_own_and_no_token(manifests: Sequence[Manifest]) -> Iterator[str]:
    accounts = {account["metadata"]["name"]: account for account in of_kind(manifests, "ServiceAccount")}
    for name, template in workloads(manifests):
        if template["spec"].get("automountServiceAccountToken") is not False:
            yield name
        account = accounts.get(template["spec"].get("serviceAccountName", "default"), {})
        if account.get("automountServiceAccountToken") is not False:
            yield name
        for volume in template["spec"].get("volumes", ()):
            if any("serviceAccountToken" in source for source in volume.get("projected", {}).get("sources", ())):
                yield f"{name}/{volume['name']}"
    yield from (binding["metadata"]["name"] for binding in of_kind(manifests, "RoleBinding", "ClusterRoleBinding"))


@everywhere
def has_no_settings_from_service_links(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        if template["spec"].get("enableServiceLinks") is not False:
            yield name


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


@everywhere
def says_what_it_needs_and_takes_no_more(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in _all_containers(manifests):
        resources = container.get("resources", {})
        if any(not {"cpu", "memory"} <= set(resources.get(kind, ())) for kind in ("requests", "limits")):
            yield where
    for name, template in workloads(manifests):
        for volume in template["spec"].get("volumes", ()):
            if "emptyDir" in volume and "sizeLimit" not in volume["emptyDir"]:
                yield f"{name}/{volume['name']}"


@everywhere
def names_the_version_of_its_image(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in _all_containers(manifests):
        name, _, tag = container["image"].rpartition("/")[2].partition(":")
        if "@sha256:" not in container["image"] and (not name or tag in ("", "latest")):
            yield where


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
            scaler["spec"]["scaleTargetRef"]["name"],
            scaler["spec"].get("minReplicas", scaler["spec"].get("minReplicaCount")),
        )
        for scaler in of_kind(manifests, "HorizontalPodAutoscaler", "ScaledObject")
    ]
    for deployment in of_kind(manifests, "Deployment"):
        name = deployment["metadata"]["name"]
        if "replicas" in deployment["spec"]:
            yield f"{name} names a number itself"
        if [least for target, least in scalers if target == name] != [2]:
            yield name


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


@everywhere
def denies_what_no_rule_allows(manifests: Sequence[Manifest]) -> Iterator[str]:
    denying = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    if not any(policy["spec"] == denying for policy in of_kind(manifests, "NetworkPolicy")):
        yield "no policy denies everything"
    for policy in of_kind(manifests, "NetworkPolicy"):
        for rule in policy["spec"].get("ingress", ()):
            if not rule.get("from") or not rule.get("ports"):
                yield f"{policy['metadata']['name']} lets anybody in"
        for rule in policy["spec"].get("egress", ()):
            if not rule.get("to") or not rule.get("ports"):
                yield f"{policy['metadata']['name']} lets everything out"
            for block in (peer["ipBlock"] for peer in rule.get("to", ()) if "ipBlock" in peer):
                if block["cidr"] == "0.0.0.0/0" and "169.254.0.0/16" not in block.get("except", ()):
                    yield f"{policy['metadata']['name']} leads to the cloud's metadata"


@everywhere
def has_no_secret_in_the_tree(manifests: Sequence[Manifest]) -> Iterator[str]:
    yield from (secret["metadata"]["name"] for secret in of_kind(manifests, "Secret"))


@everywhere
def reads_secrets_from_files(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in _all_containers(manifests):
        if any("secretRef" in source for source in container.get("envFrom", ())):
            yield where
        for variable in container.get("env", ()):
            if "valueFrom" in variable:
                yield f"{where}: {variable['name']}"
    for config in of_kind(manifests, "ConfigMap"):
        for name in config["data"]:
            if name.endswith(("_SECRET", "_PASSWORD", "_TOKEN", "_REDIS_URL", "_USERS")):
                yield f"{config['metadata']['name']}: {name}"


@everywhere
def gives_each_only_its_own_secrets(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        for volume in template["spec"].get("volumes", ()):
            sources: list[Mapping[str, object]] = [
                {"secretName": source["secret"]["name"], **source["secret"]}
                for source in volume.get("projected", {}).get("sources", ())
                if "secret" in source
            ]
            sources += [volume["secret"]] if "secret" in volume else []
            for source in sources:
                # What signs tokens is no business of code that tasks' authors brought along.
                if not source.get("items") or (
                    source["secretName"] == "leaseforge-server" and name != "leaseforge-server"
                ):
                    yield f"{name}: {source['secretName']}"


@everywhere
def is_held_to_it_by_the_cluster(manifests: Sequence[Manifest]) -> Iterator[str]:
    for namespace in of_kind(manifests, "Namespace"):
        labels = namespace["metadata"].get("labels", {})
        if labels.get("pod-security.kubernetes.io/enforce") != "restricted":
            yield namespace["metadata"]["name"]
    if not any(of_kind(manifests, "Namespace")):
        yield "no namespace"


@in_production
def is_reached_by_https_only(manifests: Sequence[Manifest]) -> Iterator[str]:
    address = named(manifests, "ConfigMap", "leaseforge-server")["data"].get("LEASEFORGE_WEB_URL", "")
    for ingress in of_kind(manifests, "Ingress"):
        secured = {host for tls in ingress["spec"].get("tls", ()) if tls.get("secretName") for host in tls["hosts"]}
        hosts = {rule.get("host") for rule in ingress["spec"]["rules"]}
        redirects = ingress["metadata"]["annotations"].get("nginx.ingress.kubernetes.io/force-ssl-redirect")
        if hosts != secured or {address} != {f"https://{host}" for host in hosts} or redirects != "true":
            yield ingress["metadata"]["name"]


@in_production
def has_its_redis_elsewhere(manifests: Sequence[Manifest]) -> Iterator[str]:
    yield from (
        where
        for where, container in _all_containers(manifests)
        if container["image"].rpartition("/")[2].startswith("redis")
    )


@in_production
def runs_no_demo_tasks(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in _all_containers(manifests):
        if "--demo" in container.get("args", ()):
            yield where


@in_production
def says_that_it_is_production(manifests: Sequence[Manifest]) -> Iterator[str]:
    if named(manifests, "ConfigMap", "leaseforge-server")["data"].get("LEASEFORGE_ENVIRONMENT") != "production":
        yield "leaseforge-server"


@in_production
def takes_images_from_a_registry(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in _all_containers(manifests):
        if "." not in container["image"].partition("/")[0] or "/" not in container["image"]:
            yield where
