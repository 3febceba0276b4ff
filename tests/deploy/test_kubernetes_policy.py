"""Every overlay keeps to every rule, and each rule finds what is planted against it."""

from copy import deepcopy

import pytest

from tests.deploy.kubernetes_plantings import PLANTED, Planting, pod
from tests.deploy.kubernetes_policy import EVERYWHERE, IN_PRODUCTION
from tests.deploy.kubernetes_rendering import VARIANTS, rendered

RULES = EVERYWHERE | IN_PRODUCTION


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_rule_is_kept(variant: str) -> None:
    rules = RULES if variant.startswith("prod") else EVERYWHERE

    broken = {name: list(rule(rendered(variant))) for name, rule in rules.items()}

    assert {name: where for name, where in broken.items() if where} == {}


def test_against_each_rule_something_is_planted() -> None:
    assert set(PLANTED) == set(RULES)


@pytest.mark.parametrize(
    ("rule", "planting"),
    [
        pytest.param(rule, planting, id=f"{rule}-{number}")
        for rule, plantings in PLANTED.items()
        for number, planting in enumerate(plantings, 1)
    ],
)
def test_what_is_planted_is_found(rule: str, planting: Planting) -> None:
    manifests = list(deepcopy(rendered("prod")))
    planting(manifests)

    assert list(RULES[rule](manifests))


def test_what_is_planted_into_what_has_a_redis_is_found_there_too() -> None:
    manifests = list(deepcopy(rendered("base")))
    own = pod(manifests, "leaseforge-redis")
    own["securityContext"]["runAsUser"] = 0
    own["volumes"][1]["secret"].pop("items")

    assert list(RULES["runs_as_a_user_that_is_not_root"](manifests)) == ["leaseforge-redis"]
    assert list(RULES["gives_each_only_its_own_secrets"](manifests)) == ["leaseforge-redis: leaseforge-redis"]
