"""The manifests as kubectl puts them together, and what stands where in them."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.support import unavailable

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
NAMESPACE = "leaseforge"
Manifest = dict[str, Any]

VARIANTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "base": ("base", ()),
    "kind": ("overlays/kind", ()),
    "kind, watched": ("overlays/kind", ("monitoring",)),
    "prod": ("overlays/prod", ()),
    "prod, scaled by what waits": ("overlays/prod", ("monitoring", "keda")),
}
"""Every overlay, with the components it is made for: name -> (folder, components)."""


def kubectl() -> str:
    """The path of a kubectl with kustomize 5."""
    fetched = Path(sys.prefix) / "kubectl" / "kubectl"
    # It is fetched only where the system's is missing or too old.
    path = str(fetched) if fetched.exists() else shutil.which("kubectl")
    if path is None:
        unavailable("kubectl is not installed: `.ci/ensure kubectl`")
    return path


@cache
def rendered(variant: str) -> Sequence[Manifest]:
    """What `kubectl apply -k` would send for a variant; shared, so copy before changing."""
    folder, components = VARIANTS[variant]
    if not components:
        return build(KUBERNETES / folder)
    with tempfile.TemporaryDirectory() as scratch:
        # Resources may lie anywhere if they are named relatively.
        here = Path(scratch).resolve()
        of = {"resources": [folder], "components": [f"components/{name}" for name in components]}
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            **{kind: [os.path.relpath(KUBERNETES / path, here) for path in paths] for kind, paths in of.items()},
        }
        (here / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
        return build(here)


def build(folder: Path) -> Sequence[Manifest]:
    """`kubectl kustomize FOLDER`; what it says against it is the test's failure. No cluster is asked."""
    done = subprocess.run(
        [kubectl(), "kustomize", str(folder)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return [manifest for manifest in yaml.safe_load_all(done.stdout) if manifest]


def of_kind(manifests: Sequence[Manifest], *kinds: str) -> Iterator[Manifest]:
    """Those of some kinds, in their order."""
    return (manifest for manifest in manifests if manifest["kind"] in kinds)


def named(manifests: Sequence[Manifest], kind: str, name: str) -> Manifest:
    """The one of this kind and name; of generated ones the name without its hash."""
    found = [
        manifest
        for manifest in of_kind(manifests, kind)
        if name in (manifest["metadata"]["name"], manifest["metadata"]["name"].rpartition("-")[0])
    ]
    assert len(found) == 1, f"{len(found)} of {kind} {name}"
    return found[0]


def workloads(manifests: Sequence[Manifest]) -> Iterator[tuple[str, Manifest]]:
    """Everything that makes pods: its name and its pod template."""
    for manifest in of_kind(manifests, "Deployment", "StatefulSet", "DaemonSet", "Job"):
        yield manifest["metadata"]["name"], manifest["spec"]["template"]
    for manifest in of_kind(manifests, "CronJob"):
        yield manifest["metadata"]["name"], manifest["spec"]["jobTemplate"]["spec"]["template"]


def containers(template: Manifest, *, also_first: bool = True) -> Iterator[Manifest]:
    """A pod's containers; with those that run before them unless told otherwise."""
    if also_first:
        yield from template["spec"].get("initContainers", ())
    yield from template["spec"]["containers"]


def selects(selector: Manifest, labels: Mapping[str, str]) -> bool:
    """Whether a label selector takes something with these labels. Only what the manifests use: matchLabels and In."""
    assert set(selector) <= {"matchLabels", "matchExpressions"}, selector
    if any(labels.get(name) != value for name, value in selector.get("matchLabels", {}).items()):
        return False
    for expression in selector.get("matchExpressions", ()):
        assert expression["operator"] == "In", expression
        if labels.get(expression["key"]) not in expression["values"]:
            return False
    return True


def settings_of(manifests: Sequence[Manifest], workload: str, secrets: Path) -> dict[str, str]:
    """The environment a workload's container starts with; where its Secrets are mounted stands this folder."""
    template = dict(workloads(manifests))[workload]
    (container,) = containers(template, also_first=False)
    environment: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        (config,) = (
            config["data"]
            for config in of_kind(manifests, "ConfigMap")
            if config["metadata"]["name"] == source["configMapRef"]["name"]
        )
        environment |= config
    for variable in container.get("env", ()):
        environment[variable["name"]] = variable["value"].replace("/etc/leaseforge/secrets", str(secrets))
    return environment


def put_secrets(
    manifests: Sequence[Manifest], workload: str, secrets: Mapping[str, Mapping[str, str]], to: Path
) -> None:
    """Writes the files a workload finds in its volume of Secrets; an entry that is missing there fails."""
    for volume in dict(workloads(manifests))[workload]["spec"]["volumes"]:
        sources = [source["secret"] for source in volume.get("projected", {}).get("sources", ())]
        if "secret" in volume:
            sources.append({"name": volume["secret"]["secretName"], "items": volume["secret"]["items"]})
        for source in sources:
            for item in source["items"]:
                (to / item["path"]).write_text(secrets[source["name"]][item["key"]], encoding="utf-8")
