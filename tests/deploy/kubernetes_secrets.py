"""Where secrets are, and who gets them."""

from collections.abc import Iterator, Mapping, Sequence

from tests.deploy.kubernetes_rendering import Manifest, containers, of_kind, workloads
from tests.deploy.kubernetes_rules import all_containers, everywhere

# What the names of settings that hold secrets end with; those of files with secrets end with _FILE.
SECRET = ("_SECRET", "_PASSWORD", "_TOKEN", "_REDIS_URL", "_USERS")


@everywhere
def has_no_secret_in_the_tree(manifests: Sequence[Manifest]) -> Iterator[str]:
    yield from (secret["metadata"]["name"] for secret in of_kind(manifests, "Secret"))


@everywhere
def reads_secrets_from_files(manifests: Sequence[Manifest]) -> Iterator[str]:
    for where, container in all_containers(manifests):
        if any("secretRef" in source for source in container.get("envFrom", ())):
            yield where
        for variable in container.get("env", ()):
            if "valueFrom" in variable or variable["name"].endswith(SECRET):
                yield f"{where}: {variable['name']}"
    for config in of_kind(manifests, "ConfigMap"):
        for name in config["data"]:
            if name.endswith(SECRET):
                yield f"{config['metadata']['name']}: {name}"


@everywhere
def lets_only_its_own_group_read_secrets(manifests: Sequence[Manifest]) -> Iterator[str]:
    for name, template in workloads(manifests):
        volumes = {volume["name"]: volume for volume in template["spec"].get("volumes", ())}
        secret = {each: volume for each, volume in volumes.items() if {"secret", "projected"} & set(volume)}
        for each, volume in secret.items():
            source = volume.get("secret") or volume["projected"]
            items = [
                item for part in source.get("sources", [volume]) for item in part.get("secret", {}).get("items", ())
            ]
            modes = [source.get("defaultMode", 0o644), *(item["mode"] for item in items if "mode" in item)]
            if any(mode & 0o337 for mode in modes):
                yield f"{name}/{each}"
        for container in containers(template):
            for mount in container.get("volumeMounts", ()):
                if mount["name"] in secret and mount.get("readOnly") is not True:
                    yield f"{name}/{container['name']}: {mount['name']}"


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
