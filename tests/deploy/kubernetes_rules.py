"""Rules for manifests: one function each, which names what breaks it. `kubernetes_policy` has them all."""

from collections.abc import Callable, Iterator, Sequence

from tests.deploy.kubernetes_rendering import Manifest, containers, workloads

Rule = Callable[[Sequence[Manifest]], Iterator[str]]
EVERYWHERE: dict[str, Rule] = {}
IN_PRODUCTION: dict[str, Rule] = {}
OURS = {"server", "worker"}


def everywhere(rule: Rule) -> Rule:
    EVERYWHERE[rule.__name__] = rule
    return rule


def in_production(rule: Rule) -> Rule:
    IN_PRODUCTION[rule.__name__] = rule
    return rule


def all_containers(manifests: Sequence[Manifest]) -> Iterator[tuple[str, Manifest]]:
    """Every container, those that run first too, with a name to find it by."""
    for name, template in workloads(manifests):
        for container in containers(template):
            yield f"{name}/{container['name']}", container
