"""What breaks each rule, planted into the manifests of production."""

from collections.abc import Callable, Sequence
from copy import deepcopy

from tests.deploy.kubernetes_rendering import Manifest, named, of_kind, rendered, workloads

Planting = Callable[[list[Manifest]], object]


def pod(manifests: Sequence[Manifest], name: str = "leaseforge-worker") -> Manifest:
    spec: Manifest = dict(workloads(manifests))[name]["spec"]
    return spec


def template(manifests: Sequence[Manifest]) -> Manifest:
    found: Manifest = dict(workloads(manifests))["leaseforge-worker"]
    return found


def redis_of_base() -> list[Manifest]:
    return deepcopy(list(of_kind(rendered("base"), "StatefulSet")))


def keeps_redis() -> list[Manifest]:
    """A budget that cannot be kept but by never moving the pod."""
    selector = {"matchLabels": {"app.kubernetes.io/name": "leaseforge-redis"}}
    spec = {"minAvailable": 1, "selector": selector}
    return [{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "oops"}, "spec": spec}]


def container(manifests: Sequence[Manifest], name: str = "leaseforge-worker") -> Manifest:
    first: Manifest = pod(manifests, name)["containers"][0]
    return first


def own(manifests: Sequence[Manifest]) -> Manifest:
    context: Manifest = container(manifests)["securityContext"]
    return context


def settings(manifests: Sequence[Manifest], name: str) -> Manifest:
    data: Manifest = named(manifests, "ConfigMap", name)["data"]
    return data


def deployment(manifests: Sequence[Manifest]) -> Manifest:
    spec: Manifest = named(manifests, "Deployment", "leaseforge-worker")["spec"]
    return spec


def policy(manifests: Sequence[Manifest], name: str) -> Manifest:
    spec: Manifest = named(manifests, "NetworkPolicy", name)["spec"]
    return spec


def without(manifests: list[Manifest], kind: str, name: str) -> None:
    manifests.remove(named(manifests, kind, name))


def account(manifests: Sequence[Manifest]) -> Manifest:
    return named(manifests, "ServiceAccount", "leaseforge-worker")


def ingress(manifests: Sequence[Manifest]) -> Manifest:
    return named(manifests, "Ingress", "leaseforge")


SECRET_IN_TREE = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "oops"}, "stringData": {"a": "b"}}
RIGHTS = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "oops"}}
TOKEN = {"name": "oops", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
FROM_SECRET = {"name": "LEASEFORGE_REDIS_URL", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}
TO_ALL = {"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"port": 443}]}

PLANTED: dict[str, list[Planting]] = {
    "runs_as_a_user_that_is_not_root": [
        lambda all: pod(all)["securityContext"].update(runAsNonRoot=False),
        lambda all: pod(all)["securityContext"].update(runAsUser=0),
        lambda all: pod(all).pop("securityContext"),
        lambda all: own(all).update(runAsUser=0),
        lambda all: pod(all)["initContainers"][0]["securityContext"].update(runAsNonRoot=False),
    ],
    "has_a_read_only_root": [
        lambda all: own(all).pop("readOnlyRootFilesystem"),
        lambda all: pod(all)["initContainers"][0]["securityContext"].update(readOnlyRootFilesystem=False),
    ],
    "has_no_capabilities": [
        lambda all: own(all).pop("capabilities"),
        lambda all: own(all)["capabilities"].update(add=["NET_BIND_SERVICE"]),
    ],
    "gains_no_rights": [
        lambda all: own(all).pop("allowPrivilegeEscalation"),
        lambda all: own(all).update(privileged=True),
    ],
    "is_under_seccomp": [
        lambda all: pod(all)["securityContext"].pop("seccompProfile"),
        lambda all: own(all).update(seccompProfile={"type": "Unconfined"}),
    ],
    "is_of_a_kind_that_is_looked_at": [
        lambda all: all.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "oops"}}),
        lambda all: all.append({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "oops"}}),
    ],
    "loosens_no_confinement": [
        lambda all: pod(all)["securityContext"].update(sysctls=[{"name": "kernel.msgmax", "value": "65536"}]),
        lambda all: own(all).update(procMount="Unmasked"),
        lambda all: own(all).update(seLinuxOptions={"type": "spc_t"}),
        lambda all: own(all).update(windowsOptions={"hostProcess": True}),
        lambda all: own(all).update(appArmorProfile={"type": "Unconfined"}),
        lambda all: template(all)["metadata"].update(
            annotations={"container.apparmor.security.beta.kubernetes.io/worker": "unconfined"}
        ),
    ],
    "runs_programs_and_no_shell": [
        lambda all: container(all).update(command=["/bin/sh", "-c", "leaseforge worker mytasks"]),
        lambda all: container(all).update(command=["leaseforge"]),
        lambda all: container(all).update(lifecycle={"preStop": {"exec": {"command": ["sh", "-c", "sleep 5"]}}}),
        lambda all: container(all)["livenessProbe"].update(exec={"command": ["bash", "-c", "true"]}),
    ],
    "shares_nothing_with_its_node": [
        lambda all: pod(all).update(shareProcessNamespace=True),
        lambda all: pod(all)["volumes"].append({"name": "oops", "nfs": {"server": "nfs", "path": "/"}}),
        lambda all: pod(all).update(hostNetwork=True),
        lambda all: pod(all)["volumes"].append({"name": "oops", "hostPath": {"path": "/"}}),
        lambda all: container(all)["ports"][0].update(hostPort=8081),
    ],
    "has_an_account_of_its_own_and_no_token": [
        lambda all: pod(all).pop("automountServiceAccountToken"),
        lambda all: pod(all).pop("serviceAccountName"),
        lambda all: account(all).pop("automountServiceAccountToken"),
        lambda all: pod(all)["volumes"].append(TOKEN),
        lambda all: all.append(RIGHTS),
    ],
    "has_no_settings_from_service_links": [lambda all: pod(all).pop("enableServiceLinks")],
    "answers_probes": [
        lambda all: container(all).pop("livenessProbe"),
        lambda all: container(all).pop("readinessProbe"),
        lambda all: container(all).pop("startupProbe"),
        lambda all: container(all)["livenessProbe"]["httpGet"].update(path="/ready"),
        lambda all: container(all).update(
            livenessProbe={"exec": {"command": ["leaseforge", "probe", "worker", "--ready"]}}
        ),
        lambda all: container(all)["readinessProbe"]["httpGet"].update(path="/livez"),
        lambda all: container(all)["readinessProbe"]["httpGet"].update(port="http"),
        lambda all: container(all)["readinessProbe"]["httpGet"].update(host="example.com"),
        lambda all: container(all)["readinessProbe"]["httpGet"].update(scheme="HTTPS"),
        lambda all: container(all)["startupProbe"].update(failureThreshold=3),
    ],
    "says_what_it_needs_and_takes_no_more": [
        lambda all: container(all).pop("resources"),
        lambda all: container(all)["resources"]["limits"].pop("memory"),
        lambda all: pod(all)["initContainers"][0]["resources"]["requests"].pop("cpu"),
        lambda all: pod(all)["volumes"].append({"name": "oops", "emptyDir": {}}),
    ],
    "names_the_version_of_its_image": [
        lambda all: container(all).update(image="registry.example.com:5000/leaseforge-worker"),
        lambda all: container(all).update(image="registry.example.com/leaseforge-worker:latest"),
    ],
    "has_time_to_drain": [
        lambda all: pod(all).update(terminationGracePeriodSeconds=30),
        lambda all: pod(all).pop("terminationGracePeriodSeconds"),
        lambda all: settings(all, "leaseforge-worker").update(LEASEFORGE_DRAIN_SECONDS="60"),
        lambda all: settings(all, "leaseforge-server").pop("LEASEFORGE_STOP_DELAY"),
        lambda all: settings(all, "leaseforge-server").update(LEASEFORGE_STOP_DELAY="50"),
    ],
    "loses_one_at_a_time_to_drained_nodes": [
        lambda all: without(all, "PodDisruptionBudget", "leaseforge-worker"),
        lambda all: named(all, "PodDisruptionBudget", "leaseforge-worker")["spec"].update(maxUnavailable=0),
        lambda all: named(all, "PodDisruptionBudget", "leaseforge-worker")["spec"].update(
            selector={"matchLabels": {"app": "oops"}}
        ),
        lambda all: named(all, "PodDisruptionBudget", "leaseforge-worker")["spec"].update(minAvailable=2),
        lambda all: named(all, "PodDisruptionBudget", "leaseforge-worker")["spec"].pop("unhealthyPodEvictionPolicy"),
        # Two budgets for a pod, and it can never be moved.
        lambda all: all.append(deepcopy(named(all, "PodDisruptionBudget", "leaseforge-worker"))),
        lambda all: all.extend([*redis_of_base(), *keeps_redis()]),
    ],
    "is_replaced_without_a_gap": [
        lambda all: deployment(all)["strategy"]["rollingUpdate"].update(maxUnavailable=1),
        lambda all: deployment(all).update(strategy={"type": "Recreate"}),
    ],
    "is_scaled_by_one_only": [
        lambda all: deployment(all).update(replicas=3),
        lambda all: all.extend(deepcopy(list(of_kind(all, "HorizontalPodAutoscaler")))),
        lambda all: named(all, "HorizontalPodAutoscaler", "leaseforge-server")["spec"].update(minReplicas=1),
        lambda all: without(all, "HorizontalPodAutoscaler", "leaseforge-server"),
        lambda all: named(all, "HorizontalPodAutoscaler", "leaseforge-server")["spec"]["scaleTargetRef"].update(
            kind="StatefulSet"
        ),
        lambda all: all.extend({**each, "spec": {**each["spec"], "replicas": 2}} for each in redis_of_base()),
    ],
    "spreads_over_nodes_and_zones": [
        lambda all: pod(all).pop("topologySpreadConstraints"),
        lambda all: pod(all)["topologySpreadConstraints"][0]["labelSelector"].update(matchLabels={"app": "oops"}),
    ],
    "denies_what_no_rule_allows": [
        lambda all: without(all, "NetworkPolicy", "default-deny"),
        lambda all: policy(all, "ingress-to-server").update(ingress=[{}]),
        lambda all: policy(all, "clients-to-redis").update(egress=[{}]),
        lambda all: policy(all, "clients-to-redis")["egress"].append(TO_ALL),
        lambda all: policy(all, "https-out")["egress"][0]["to"][0]["ipBlock"]["except"].remove("169.254.0.0/16"),
        lambda all: policy(all, "https-out")["egress"][0]["to"].append({"ipBlock": {"cidr": "128.0.0.0/1"}}),
        lambda all: policy(all, "https-out")["egress"][0]["to"].append({"ipBlock": {"cidr": "::/0"}}),
        lambda all: policy(all, "https-out")["egress"][0]["to"].append({"namespaceSelector": {}}),
        lambda all: policy(all, "https-out")["egress"][0]["ports"][0].update(endPort=65535),
        lambda all: policy(all, "ingress-to-server")["ingress"][0]["from"].append({"podSelector": {}}),
    ],
    "lets_through_what_is_needed": [
        lambda all: without(all, "NetworkPolicy", "dns"),
        lambda all: policy(all, "dns")["egress"][0]["ports"].pop(),
        lambda all: policy(all, "dns").update(podSelector={"matchLabels": {"app": "oops"}}),
        lambda all: without(all, "NetworkPolicy", "clients-to-redis"),
        lambda all: policy(all, "clients-to-redis").update(policyTypes=["Ingress"]),
        lambda all: without(all, "NetworkPolicy", "ingress-to-server"),
        lambda all: all.extend(of_kind(rendered("prod, scaled by what waits"), "ServiceMonitor")),
    ],
    "is_reached_by_the_ingress_only": [
        lambda all: named(all, "Service", "leaseforge-server")["spec"].update(type="LoadBalancer"),
        lambda all: named(all, "Service", "leaseforge-server")["spec"].update(externalIPs=["203.0.113.1"]),
    ],
    "believes_only_proxies_about_who_asks": [
        lambda all: settings(all, "leaseforge-server").pop("LEASEFORGE_TRUSTED_PROXIES"),
        lambda all: settings(all, "leaseforge-server").update(LEASEFORGE_TRUSTED_PROXIES="0.0.0.0/0"),
        lambda all: settings(all, "leaseforge-server").update(LEASEFORGE_TRUSTED_PROXIES="10.244.0.0/16, 8.0.0.0/8"),
    ],
    "has_no_secret_in_the_tree": [lambda all: all.append(SECRET_IN_TREE)],
    "reads_secrets_from_files": [
        lambda all: container(all)["env"].append(FROM_SECRET),
        lambda all: container(all)["envFrom"].append({"secretRef": {"name": "oops"}}),
        lambda all: container(all)["env"].append({"name": "LEASEFORGE_METRICS_TOKEN", "value": "oops"}),
        lambda all: settings(all, "leaseforge-server").update(LEASEFORGE_AUTH_SECRET="oops"),
        lambda all: settings(all, "leaseforge-worker").update(LEASEFORGE_REDIS_URL="redis://a:b@c"),
    ],
    "lets_only_its_own_group_read_secrets": [
        lambda all: pod(all)["volumes"][0]["projected"].pop("defaultMode"),
        lambda all: pod(all)["volumes"][0]["projected"].update(defaultMode=0o444),
        lambda all: pod(all)["volumes"][0]["projected"]["sources"][0]["secret"]["items"][0].update(mode=0o644),
        lambda all: container(all)["volumeMounts"][0].pop("readOnly"),
    ],
    "gives_each_only_its_own_secrets": [
        lambda all: pod(all)["volumes"].append({"name": "oops", "secret": {"secretName": "leaseforge-redis"}}),
        lambda all: pod(all)["volumes"][0]["projected"]["sources"].append(
            {"secret": {"name": "leaseforge-server", "items": [{"key": "auth-secret", "path": "auth-secret"}]}}
        ),
    ],
    "is_held_to_it_by_the_cluster": [
        lambda all: without(all, "Namespace", "leaseforge"),
        lambda all: named(all, "Namespace", "leaseforge")["metadata"]["labels"].clear(),
    ],
    "is_reached_by_https_only": [
        lambda all: ingress(all)["spec"].pop("tls"),
        lambda all: ingress(all)["spec"]["rules"][0].update(host="other.example.com"),
        lambda all: ingress(all)["metadata"]["annotations"].clear(),
        lambda all: settings(all, "leaseforge-server").pop("LEASEFORGE_WEB_URL"),
    ],
    "has_its_redis_elsewhere": [lambda all: all.extend(redis_of_base())],
    "runs_no_demo_tasks": [lambda all: container(all).update(args=["worker", "--demo"])],
    "says_that_it_is_production": [lambda all: settings(all, "leaseforge-server").pop("LEASEFORGE_ENVIRONMENT")],
    "takes_images_from_a_registry": [lambda all: container(all).update(image="leaseforge-worker:0.1.0")],
}
