"""Who reaches whom, and as what an installation knows itself."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network

from tests.deploy.kubernetes_rendering import Manifest, named, of_kind, selects, workloads
from tests.deploy.kubernetes_rules import OURS, all_containers, everywhere, in_production

# Where clouds tell a machine its credentials.
METADATA = (ip_address("169.254.169.254"), ip_address("fd00:ec2::254"))


@everywhere
def denies_what_no_rule_allows(manifests: Sequence[Manifest]) -> Iterator[str]:
    denying = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    if not any(policy["spec"] == denying for policy in of_kind(manifests, "NetworkPolicy")):
        yield "no policy denies everything"
    for policy in of_kind(manifests, "NetworkPolicy"):
        name, directions = policy["metadata"]["name"], (("ingress", "from"), ("egress", "to"))
        for direction, peers in directions:
            for rule in policy["spec"].get(direction, ()):
                if not rule.get(peers) or not rule.get("ports"):
                    yield f"{name}: {direction} of anybody"
                if any(map(_is_everybody, rule.get(peers, ()))) or any(
                    "endPort" in port for port in rule.get("ports", ())
                ):
                    yield f"{name}: {direction} of everybody"
        for rule in policy["spec"].get("egress", ()):
            for block in (peer["ipBlock"] for peer in rule.get("to", ()) if "ipBlock" in peer):
                excepted = [ip_network(network) for network in block.get("except", ())]
                for address in METADATA:
                    if address in ip_network(block["cidr"]) and not any(address in network for network in excepted):
                        yield f"{name} leads to the cloud's metadata"


def _is_everybody(peer: Mapping[str, Manifest]) -> bool:
    """Whether a peer is no choice: all pods of a namespace or of all."""
    return not any(peer.values())


@everywhere
def lets_through_what_is_needed(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        if name.removeprefix("leaseforge-") not in OURS:
            continue
        opened = _opened(manifests, template["metadata"]["labels"], "egress")
        # An answer that does not fit into a datagram is asked for again by TCP.
        if not {("UDP", 53), ("TCP", 53)} <= opened:
            yield f"{name} finds no name"
        if not {("TCP", 6379), ("TCP", "redis")} & opened:
            yield f"{name} does not reach Redis"
        entered = _opened(manifests, template["metadata"]["labels"], "ingress")
        [port] = template["spec"]["containers"][0]["ports"]
        ways = {("TCP", port["name"]), ("TCP", port["containerPort"])} & entered
        is_watched = any(of_kind(manifests, "ServiceMonitor"))
        if (name == "leaseforge-server" and ("TCP", port["name"]) not in ways) or (
            is_watched and ("TCP", port["containerPort"]) not in ways
        ):
            yield f"{name} is reached by nobody"


def _opened(manifests: Sequence[Manifest], labels: Mapping[str, str], direction: str) -> set[tuple[str, int | str]]:
    """Protocols and ports some policy opens for pods of these labels."""
    return {
        (port.get("protocol", "TCP"), port["port"])
        for policy in of_kind(manifests, "NetworkPolicy")
        if selects(policy["spec"]["podSelector"], labels) and direction.title() in policy["spec"]["policyTypes"]
        for rule in policy["spec"].get(direction, ())
        for port in rule.get("ports", ())
    }


@everywhere
def is_reached_by_the_ingress_only(manifests: Sequence[Manifest]) -> Iterator[str]:
    for service in of_kind(manifests, "Service"):
        if service["spec"].get("type", "ClusterIP") != "ClusterIP" or "externalIPs" in service["spec"]:
            yield service["metadata"]["name"]


@everywhere
def believes_only_proxies_about_who_asks(manifests: Sequence[Manifest]) -> Iterator[str]:
    told = named(manifests, "ConfigMap", "leaseforge-server")["data"].get("LEASEFORGE_TRUSTED_PROXIES", "")
    networks = [ip_network(part.strip()) for part in told.split(",") if part.strip()]
    # Without one all people share the allowance of failed logins of their proxy.
    if not networks and any(
        rule.get("host") for each in of_kind(manifests, "Ingress") for rule in each["spec"]["rules"]
    ):
        yield "nobody is believed"
    yield from (str(network) for network in networks if not network.is_private or network.prefixlen < 8)


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
        for where, container in all_containers(manifests)
        if container["image"].rpartition("/")[2].startswith("redis")
    )


@in_production
def says_that_it_is_production(manifests: Sequence[Manifest]) -> Iterator[str]:
    if named(manifests, "ConfigMap", "leaseforge-server")["data"].get("LEASEFORGE_ENVIRONMENT") != "production":
        yield "leaseforge-server"
