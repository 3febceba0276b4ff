"""What people paste from docs/kubernetes.md: commands, run against a kubectl that has one Secret, and manifests."""

import os
import re
import subprocess
from pathlib import Path

import kubernetes_validate  # type: ignore[import-untyped]  # it has none
import yaml

from leaseforge_auth.settings import auth_secrets
from tests.deploy.kubernetes_policy import EVERYWHERE
from tests.deploy.kubernetes_rendering import KUBERNETES, ROOT, build, kubectl, named, of_kind, rendered

PAGE = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")
# `create --dry-run` is the real one's work: it asks no cluster.
KUBECTL = """#!/bin/sh
shift 2
case "$1 $2" in
"create secret") exec {real} -n leaseforge "$@" ;;
"replace -f") cat >{here}/secret.yaml ;;
"get secret") sed -n 's/^  auth-secret: //p' {here}/secret.yaml ;;
"rollout restart") sed -n 's/^  auth-secret: //p' {here}/secret.yaml | base64 -d >>{here}/steps; echo >>{here}/steps ;;
"rollout status") ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""


def test_the_auth_secret_is_replaced_without_a_moment_in_which_a_token_is_unknown(tmp_path: Path) -> None:
    [lines] = re.findall(r"^```sh\n(put\(\).*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    fake = tmp_path / "kubectl"
    fake.write_text(KUBECTL.format(real=kubectl(), here=tmp_path), encoding="utf-8")
    fake.chmod(0o755)
    old = {"data": {"auth-secret": "dGhlLW9sZC1zZWNyZXQtb2YtdGhpcnR5LXR3by1ieXRlcy1hbmQtbW9yZQ=="}}
    (tmp_path / "secret.yaml").write_text(yaml.safe_dump(old), encoding="utf-8")
    # The page has kubectl with -n only where a Secret is piped on.
    lines = lines.replace("kubectl replace -f", "kubectl -n leaseforge replace -f")
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    subprocess.run(["sh", "-euc", lines], env=environment, timeout=60, check=True)

    steps = [auth_secrets(line) for line in (tmp_path / "steps").read_text("utf-8").splitlines()]
    before: tuple[str, ...] = ("the-old-secret-of-thirty-two-bytes-and-more",)
    assert len(steps) == 3
    for after in steps:
        # Servers of both kinds run side by side: what the one signs with, the other accepts.
        assert before[0] in after
        assert after[0] in before
        before = after
    assert before == (steps[1][0],)
    assert before[0] != "the-old-secret-of-thirty-two-bytes-and-more"


def test_another_ingress_controller_is_let_in_by_the_patch_that_is_printed(tmp_path: Path) -> None:
    [patch] = re.findall(r"^```yaml\n(patches:\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    here = tmp_path.resolve()
    above = {"resources": [os.path.relpath(KUBERNETES / "overlays/prod", here)]}
    (here / "kustomization.yaml").write_text(yaml.safe_dump(above | yaml.safe_load(patch)), encoding="utf-8")

    patched = build(here)

    ingress, policy = named(patched, "Ingress", "leaseforge"), named(patched, "NetworkPolicy", "ingress-to-server")
    assert ingress["spec"]["ingressClassName"] == "traefik"
    assert not any("nginx" in annotation for annotation in ingress["metadata"]["annotations"])
    assert yaml.safe_dump(policy).count("kubernetes.io/metadata.name: traefik") == 1
    others = [each for each in rendered("prod") if each["metadata"]["name"] not in ("leaseforge", "ingress-to-server")]
    assert all(each in patched for each in others)
    assert {name: list(rule(patched)) for name, rule in EVERYWHERE.items()} == {name: [] for name in EVERYWHERE}


def test_the_volume_that_is_restored_is_the_one_redis_claims() -> None:
    pasted = re.findall(r"<<'EOF'\n(.*?)^EOF$", PAGE, re.MULTILINE | re.DOTALL)
    snapshot, claim = map(yaml.safe_load, pasted)
    [redis] = of_kind(rendered("base"), "StatefulSet")
    [template] = redis["spec"]["volumeClaimTemplates"]
    name = f"{template['metadata']['name']}-{redis['metadata']['name']}-0"

    kubernetes_validate.validate(claim, "1.27", strict=True)
    assert (claim["metadata"]["name"], claim["metadata"]["namespace"]) == (name, redis["metadata"]["namespace"])
    assert template["spec"].items() <= claim["spec"].items()
    assert snapshot["spec"]["source"] == {"persistentVolumeClaimName": name}
    assert claim["spec"]["dataSource"]["name"] == snapshot["metadata"]["name"]
    assert snapshot["apiVersion"].startswith(claim["spec"]["dataSource"]["apiGroup"])


def test_commands_name_what_there_is() -> None:
    manifests = rendered("base")
    kinds = {"deploy": "Deployment", "statefulset": "StatefulSet"}
    text = PAGE + (ROOT / "docs" / "runbook.md").read_text("utf-8")

    found = set(re.findall(r"\b(deploy|statefulset)/(leaseforge-\w+)", text))
    assert len(found) == 3
    for kind, name in found:
        assert named(manifests, kinds[kind], name)
