"""What the manifests start, started here: their Redis configuration, settings, Secrets, arguments and probes."""

import os
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate  # type: ignore[import-untyped]  # it has none
import pytest
import yaml

from leaseforge.settings import read
from leaseforge_api.settings import ServerSettings
from leaseforge_cli.exits import ExitCode
from leaseforge_worker.settings import WorkerSettings
from tests.deploy.kubernetes_rendering import (
    KUBERNETES,
    ROOT,
    VARIANTS,
    containers,
    named,
    of_kind,
    put_secrets,
    rendered,
    settings_of,
    workloads,
)
from tests.support import Process, eventually_sync, free_port
from tests.support.servers import chosen_binary

VERSION = version("leaseforge")
LEASEFORGE = (sys.executable, "-P", "-m", "leaseforge_cli")
HTTP = httpx.Client(timeout=60, limits=httpx.Limits(max_keepalive_connections=0))
"""One for all requests: making one takes longer than most of them."""
Secrets = Mapping[str, Mapping[str, str]]


def make_secrets(*options: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", KUBERNETES / "make-secrets", *options], capture_output=True, text=True, timeout=60, check=False
    )


def decoded(printed: str) -> Secrets:
    return {
        secret["metadata"]["name"]: {key: b64decode(value).decode() for key, value in secret["data"].items()}
        for secret in yaml.safe_load_all(printed)
    }


def test_secrets_are_valid_fresh_and_all_that_is_mounted() -> None:
    printed = make_secrets("--namespace", "elsewhere").stdout
    one, other = decoded(printed), decoded(make_secrets().stdout)

    for secret in yaml.safe_load_all(printed):
        kubernetes_validate.validate(secret, "1.27", strict=True)
        assert secret["metadata"]["namespace"] == "elsewhere"
    for name, entries in one.items():
        assert all(other[name][key] != value for key, value in entries.items())
    mounted = {
        (source["secret"]["name"], item["key"])
        for _, template in workloads(rendered("base"))
        for volume in template["spec"]["volumes"]
        for source in [*volume.get("projected", {}).get("sources", ()), volume]
        if "secret" in source
        for item in source["secret"]["items"]
        for source in [{"secret": {"name": source["secret"].get("name", source["secret"].get("secretName"))}}]
    }
    assert {(name, key) for name, entries in one.items() for key in entries} == mounted


def test_for_a_redis_elsewhere_its_url_is_taken_and_no_account_made(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("rediss://ada:hush@redis.example.com:6379/0\n")

    assert decoded(make_secrets("--redis-url-file", file).stdout)["leaseforge-redis"] == {
        "url": file.read_text().strip()
    }


@pytest.mark.parametrize("url", ["redis://ada:hush@redis.example.com/0", "rediss://redis.example.com/0", ""])
def test_a_redis_without_tls_or_password_is_refused(tmp_path: Path, url: str) -> None:
    file = tmp_path / "url"
    file.write_text(url)
    refused = make_secrets("--redis-url-file", file)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "hush" not in refused.stderr


@pytest.mark.parametrize("options", [["--bogus", "x"], ["--namespace"], ["--redis-url-file", ""]], ids=" ".join)
def test_a_wrong_command_line_prints_no_secret(options: list[str]) -> None:
    refused = make_secrets(*options)

    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.parametrize("variant", VARIANTS)
def test_settings_are_ones_the_processes_understand(variant: str, tmp_path: Path) -> None:
    manifests = rendered(variant)
    secrets = decoded(make_secrets().stdout)
    put_secrets(manifests, "leaseforge-server", secrets, tmp_path)
    known = (ROOT / "docs" / "configuration.md").read_text("utf-8")

    server = settings_of(manifests, "leaseforge-server", tmp_path)
    worker = settings_of(manifests, "leaseforge-worker", tmp_path)

    for name in {*server, *worker}:
        assert f"| `{name.removesuffix('_FILE')}` |" in known, name
    served = ServerSettings.read(server)
    assert served.http.api_addr == ("0.0.0.0", 8080) or served.http.api_addr[1] == 8080
    assert read(WorkerSettings, worker).metrics_address is not None


def test_uid_ports_and_version_are_those_of_the_images() -> None:
    stages = (ROOT / "deploy" / "docker" / "Dockerfile").read_text("utf-8")
    [user] = re.findall(r"^USER (\d+):(\d+)$", stages, re.MULTILINE)

    for part in ("server", "worker"):
        spec = dict(workloads(rendered("base")))[f"leaseforge-{part}"]["spec"]
        context = spec["securityContext"]
        assert (context["runAsUser"], context["runAsGroup"], context["fsGroup"]) == (
            int(user[0]),
            int(user[1]),
            int(user[1]),
        )
        [container] = spec["containers"]
        assert container["image"] == f"leaseforge-{part}:{version('leaseforge')}"
        [port] = container["ports"]
        assert f"EXPOSE {port['containerPort']}" in stages.split(f" AS {part}\n")[1].split("\nFROM ")[0]


def test_redis_is_that_of_compose() -> None:
    """Both hold what Leaseforge needs of it; memory and the place of the accounts are each one's own."""

    def kept(path: Path) -> set[str]:
        lines = {line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")}
        return {line for line in lines if line.split()[0] not in ("maxmemory", "aclfile")}

    compose = yaml.safe_load((ROOT / "deploy" / "compose" / "compose.yaml").read_text("utf-8"))["services"]["redis"]
    [redis] = containers(dict(workloads(rendered("base")))["leaseforge-redis"])

    assert kept(KUBERNETES / "base" / "redis" / "redis.conf") == kept(ROOT / "deploy" / "compose" / "redis.conf")
    assert compose["image"] == f"${{REDIS_IMAGE:-{redis['image']}}}"
    assert compose["healthcheck"]["test"] == ["CMD", *redis["readinessProbe"]["exec"]["command"]]


@dataclass(frozen=True)
class Installation:
    """Redis, a server and a worker of the overlay for kind, on ports of this machine."""

    redis_port: int
    urls: Mapping[str, str]
    environments: Mapping[str, Mapping[str, str]]
    secrets: Secrets
    processes: Mapping[str, Process]

    def run(self, *arguments: str, part: str = "server") -> subprocess.CompletedProcess[str]:
        """What `kubectl exec` does: a command with the environment of a pod."""
        return subprocess.run(
            [*LEASEFORGE, *arguments],
            env=os.environ | dict(self.environments[part]),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    manifests = rendered("kind")
    here = tmp_path_factory.mktemp("cluster")
    secrets = decoded(make_secrets().stdout)
    redis_port, ports = free_port(), {"server": free_port(), "worker": free_port()}
    with ExitStack() as ending:

        def start(name: str, argv: list[Any], **env: str) -> Process:
            return ending.enter_context(Process(argv, output_file=here / f"{name}.log", env=env))

        (here / "redis").mkdir()
        put_secrets(manifests, "leaseforge-redis", secrets, here / "redis")
        config = named(manifests, "ConfigMap", "leaseforge-redis")["data"]["redis.conf"]
        config = config.replace("dir /data", f"dir {here}/redis").replace("/etc/leaseforge/secrets", f"{here}/redis")
        (here / "redis.conf").write_text(config, encoding="utf-8")
        start("redis", [chosen_binary().path, here / "redis.conf", "--port", redis_port, "--bind", "127.0.0.1"])
        environments: dict[str, Mapping[str, str]] = {}
        for part, address in (("server", "LEASEFORGE_API_ADDR"), ("worker", "LEASEFORGE_METRICS_ADDR")):
            (here / part).mkdir()
            put_secrets(manifests, f"leaseforge-{part}", secrets, here / part)
            url = here / part / "redis-url"
            url.write_text(url.read_text().replace("@leaseforge-redis:6379/", f"@127.0.0.1:{redis_port}/"))
            environment = settings_of(manifests, f"leaseforge-{part}", here / part)
            assert environment[address].startswith(":80")
            # No load balancer has to hear of its end.
            environments[part] = environment | {address: f"127.0.0.1:{ports[part]}", "LEASEFORGE_STOP_DELAY": "0"}

        def start_all(number: int) -> dict[str, Process]:
            return {
                part: start(f"{part}-{number}", [*LEASEFORGE, *steps[number]["args"]], **environments[part])
                for part in ports
                for steps in [list(containers(dict(workloads(manifests))[f"leaseforge-{part}"]))]
            }

        for first in start_all(0).values():
            assert first.wait(within_s=60) == ExitCode.OK, first.output()
        processes = start_all(1)
        urls = {part: f"http://127.0.0.1:{port}" for part, port in ports.items()}
        yield Installation(redis_port, urls, environments, secrets, processes)


@pytest.mark.parametrize("part", ["server", "worker"])
def test_probes_and_metrics_answer_where_the_manifests_ask(installation: Installation, part: str) -> None:
    [container] = dict(workloads(rendered("kind")))[f"leaseforge-{part}"]["spec"]["containers"]
    # Kubelet and Prometheus name a pod by its address.
    host = {"Host": "10.244.1.7:8080"}
    token = {"Authorization": f"Bearer {installation.secrets['leaseforge-metrics']['token']}"}

    def answers(path: str, **headers: str) -> int:
        return HTTP.get(installation.urls[part] + path, headers=host | headers).status_code

    def is_up() -> bool:
        installation.processes[part].check_running()
        try:
            return all(
                answers(container[f"{kind}Probe"]["httpGet"]["path"]) == 200
                for kind in ("startup", "liveness", "readiness")
            )
        except httpx.TransportError:
            return False

    eventually_sync(is_up, within_s=60)
    monitor = named(rendered("kind, watched"), "ServiceMonitor", f"leaseforge-{part}")
    [endpoint] = monitor["spec"]["endpoints"]
    assert (answers(endpoint["path"]), answers(endpoint["path"], **token)) == (401, 200)
    secret = endpoint["authorization"]["credentials"]
    assert installation.secrets[secret["name"]][secret["key"]] in token["Authorization"]


def test_redis_answers_its_probe_and_lets_nobody_else_in(installation: Installation) -> None:
    [redis] = containers(dict(workloads(rendered("kind")))["leaseforge-redis"])
    program, *arguments = redis["readinessProbe"]["exec"]["command"]

    def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [program, "-p", str(installation.redis_port), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)

    assert ask(*arguments).stdout == "PONG\n"
    assert ask(*arguments[:-1], "info").returncode != 0
    assert "NOAUTH" in ask("-e", "ping").stderr + ask("-e", "ping").stdout


def test_the_first_administrator_is_made_in_a_pod_and_jobs_are_run(installation: Installation) -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")
    [command] = re.findall(r"exec deploy/leaseforge-server -- leaseforge (users create .+)$", page, re.MULTILINE)
    made = installation.run(*command.split())
    assert made.returncode == ExitCode.OK, made.stderr
    password = re.search(r"\S{16,}", made.stdout + made.stderr)
    assert password
    with httpx.Client(base_url=installation.urls["server"], timeout=30) as http:
        account = {"username": command.split()[2], "password": password[0]}
        login = http.post("/api/auth/login", json=account)
        assert login.status_code == 200, login.text
        http.headers["Authorization"] = f"Bearer {login.json()['access_token']}"
        job = http.post("/api/jobs", json={"type": "echo", "payload": "hello", "queue": "anything"}).json()

        eventually_sync(lambda: http.get(f"/api/jobs/{job['id']}").json()["status"] == "completed", within_s=60)


def test_what_only_a_server_may_know_no_worker_finds(installation: Installation) -> None:
    refused = installation.run("users", "list", part="worker")

    assert refused.returncode == ExitCode.SETTINGS
    assert "LEASEFORGE_AUTH_SECRET" in refused.stderr


def test_every_kind_of_workload_is_one_of_these() -> None:
    assert {name for variant in VARIANTS for name, _ in workloads(rendered(variant))} == {
        "leaseforge-server",
        "leaseforge-worker",
        "leaseforge-redis",
    }
    assert not list(of_kind(rendered("prod"), "StatefulSet", "PersistentVolumeClaim"))
