"""What a pod may be: Kubernetes' `restricted` standard and what we ask beyond it."""

from collections.abc import Iterator, Sequence

from tests.deploy.kubernetes_rendering import Manifest, of_kind, workloads
from tests.deploy.kubernetes_rules import OURS, all_containers, everywhere, in_production

WORKLOADS = {"Deployment", "StatefulSet"}
OPERATORS = {"PrometheusRule", "ScaledObject", "ServiceMonitor"}
KINDS = WORKLOADS | OPERATORS
KINDS |= {"ConfigMap", "HorizontalPodAutoscaler", "Ingress", "Namespace", "NetworkPolicy", "PodDisruptionBudget"}
KINDS |= {"Service", "ServiceAccount"}
VOLUMES = {"name", "configMap", "emptyDir", "projected", "secret"}
# Standards allow some values of these; we need none.
LOOSENING = {"appArmorProfile", "procMount", "seLinuxOptions", "supplementalGroups", "sysctls", "windowsOptions"}


@everywhere
def runs_as_a_user_that_is_not_root(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        pod = template["spec"].get("securityContext", {})
        if pod.get("runAsNonRoot") is not True or not pod.get("runAsUser") or not pod.get("runAsGroup"):
            yield name
    for where, container in all_containers(manifests):
        own = container.get("securityContext", {})
        if own.get("runAsNonRoot", True) is not True or own.get("runAsUser", 1) == 0 or own.get("runAsGroup", 1) == 0:
            yield where


@everywhere
def has_a_read_only_root(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in all_containers(manifests):
        if container.get("securityContext", {}).get("readOnlyRootFilesystem") is not True:
            yield where


@everywhere
def has_no_capabilities(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in all_containers(manifests):
        if container.get("securityContext", {}).get("capabilities") != {"drop": ["ALL"]}:
            yield where


@everywhere
def gains_no_rights(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in all_containers(manifests):
        own = container.get("securityContext", {})
        if own.get("allowPrivilegeEscalation") is not False or own.get("privileged"):
            yield where


@everywhere
def is_under_seccomp(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        if template["spec"].get("securityContext", {}).get("seccompProfile") != {"type": "RuntimeDefault"}:
            yield name
    for where, container in all_containers(manifests):
        if "seccompProfile" in container.get("securityContext", {}):
            yield where


@everywhere
def is_of_a_kind_that_is_looked_at(manifests: Sequence[Manifest]) -> Iterator[str]:
    yield from (f"{each['kind']} {each['metadata']['name']}" for each in manifests if each["kind"] not in KINDS)


@everywhere
def loosens_no_confinement(manifests: Sequence[Manifest]) -> Iterator[str]:
    """What else Kubernetes' standard forbids, on the pod or on a container."""
    for name, template in workloads(manifests):
        if set(template["spec"].get("securityContext", ())) & LOOSENING:
            yield name
        if any("apparmor" in key for key in template["metadata"].get("annotations", ())):
            yield name
    for where, container in all_containers(manifests):
        if set(container.get("securityContext", ())) & LOOSENING:
            yield where


@everywhere
def shares_nothing_with_its_node(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        if any(template["spec"].get(flag) for flag in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace")):
            yield name
        for volume in template["spec"].get("volumes", ()):
            if not set(volume) <= VOLUMES:
                yield f"{name}/{volume['name']}"
    for where, container in all_containers(manifests):
        if any("hostPort" in port for port in container.get("ports", ())):
            yield where


@everywhere
def runs_programs_and_no_shell(manifests: Sequence[Manifest]) -> Iterator[str]:
    """Images bring their entry point, which gets the signals; a shell in between would keep them."""
    for where, container in all_containers(manifests):
        probes = [container.get(f"{kind}Probe", {}) for kind in ("startup", "liveness", "readiness")]
        hooks = list(container.get("lifecycle", {}).values())
        commands = [each.get("exec", {}).get("command", ()) for each in (*probes, *hooks)]
        commands.append(container.get("command", ()))
        if any(command and command[0].rpartition("/")[2] in ("sh", "bash") for command in commands):
            yield where
        if where.partition("/")[2] in OURS and "command" in container:
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
def says_what_it_needs_and_takes_no_more(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in all_containers(manifests):
        resources = container.get("resources", {})
        if any(not {"cpu", "memory"} <= set(resources.get(kind, ())) for kind in ("requests", "limits")):
            yield where
    for name, template in workloads(manifests):
        for volume in template["spec"].get("volumes", ()):
            if "emptyDir" in volume and "sizeLimit" not in volume["emptyDir"]:
                yield f"{name}/{volume['name']}"


@everywhere
def names_the_version_of_its_image(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in all_containers(manifests):
        name, _, tag = container["image"].rpartition("/")[2].partition(":")
        if "@sha256:" not in container["image"] and (not name or tag in ("", "latest")):
            yield where


@everywhere
def is_held_to_it_by_the_cluster(manifests: Sequence[Manifest]) -> Iterator[str]:
    for namespace in of_kind(manifests, "Namespace"):
        labels = namespace["metadata"].get("labels", {})
        if labels.get("pod-security.kubernetes.io/enforce") != "restricted":
            yield namespace["metadata"]["name"]
    if not any(of_kind(manifests, "Namespace")):
        yield "no namespace"


@in_production
def runs_no_demo_tasks(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in all_containers(manifests):
        if "--demo" in container.get("args", ()):
            yield where


@in_production
def takes_images_from_a_registry(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in all_containers(manifests):
        if "." not in container["image"].partition("/")[0] or "/" not in container["image"]:
            yield where
