"""compose.yaml is what Docker Compose accepts, keeps the rules of a safe installation, and names only what exists."""

import copy
import hashlib
import json
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import pytest
import yaml

from leaseforge.settings import Setting, declared
from leaseforge.settings import read as read_settings
from leaseforge.tracing_settings import TracingSettings
from leaseforge_api.settings import HttpSettings, ServerSettings
from leaseforge_auth.oidc.settings import OidcSettings
from leaseforge_auth.settings import AuthSettings
from leaseforge_cli.main import leaseforge
from leaseforge_worker.settings import WorkerSettings
from tests.deploy.composition import COMPOSE, read, seconds
from tests.deploy.dockerfile import DOCKER, parse
from tests.support import unavailable

OURS = ("server", "worker", "server-sso")
SETTINGS: dict[str, Setting] = {
    setting.env: setting
    for cls in (WorkerSettings, HttpSettings, AuthSettings, OidcSettings, TracingSettings)
    for setting in declared(cls).values()
}
OBSERVABILITY = COMPOSE.parent / "observability"
Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def composition() -> dict[str, Any]:
    return read()


def faults(composition: Mapping[str, Any]) -> Iterator[str]:
    """What is unsafe about an installation."""
    for name, service in composition["services"].items():
        if service.get("cap_drop") != ["ALL"]:
            yield f"{name} keeps capabilities"
        if "no-new-privileges:true" not in service.get("security_opt", []):
            yield f"{name} may gain privileges"
        if not service.get("read_only") and name != "sso":
            yield f"{name} has a writable root"
        for limit in ("mem_limit", "pids_limit"):
            if not service.get(limit):
                yield f"{name} has no {limit}"
        if "max-size" not in service.get("logging", {}).get("options", {}):
            yield f"{name} fills the disk with its log"
        if not re.search(r":v?\d+(\.\d+)+", service["image"]):
            yield f"{name} is not pinned: {service['image']}"
        for port in service.get("ports", []):
            if port.get("host_ip") != "127.0.0.1":
                yield f"{name} is published on {port.get('host_ip')}"
        for variable, value in service.get("environment", {}).items():
            if re.search(r"(PASSWORD|SECRET|TOKEN|REDIS_URL)$", variable) and value:
                yield f"{name} carries a secret in {variable}"
            held = re.fullmatch(r"/run/secrets/(.+)", value or "")
            if held and held[1] not in {secret["source"] for secret in service.get("secrets", [])}:
                yield f"{name} is not given {held[1]}"
        if name in OURS:
            yield from _faults_of_ours(name, service)
    if composition["services"]["redis"].get("ports"):
        yield "redis is reached from outside"
    if (
        set(composition["services"]["redis"]["networks"]) != {"store"}
        or not composition["networks"]["store"]["internal"]
    ):
        yield "redis reaches the outside"


def _faults_of_ours(name: str, service: Mapping[str, Any]) -> Iterator[str]:
    part = name.removesuffix("-sso")
    if seconds(service.get("stop_grace_period", "10s")) < WorkerSettings().drain_s + 15:
        yield f"{name} is killed while it drains"
    if service.get("healthcheck", {}).get("test") != ["CMD", "leaseforge", "probe", part, "--ready"]:
        yield f"{name} is not asked by the product's own command whether it is ready"
    if service.get("depends_on", {}).get("redis", {}).get("condition") != "service_healthy":
        yield f"{name} does not wait for redis"
    if not service.get("init"):
        yield f"{name} leaves orphans of its tasks as zombies"
    for variable, value in service["environment"].items():
        setting = SETTINGS.get(variable) or SETTINGS.get(variable.removesuffix("_FILE"))
        if setting is None or (variable not in SETTINGS and not setting.secret):
            yield f"{name} is given {variable}, which nobody reads"
        elif variable in SETTINGS and value:
            try:
                setting.parse(value)
            except ValueError as error:
                yield f"{name} is given a wrong {variable}: {error}"


def test_the_installation_is_safe(composition: dict[str, Any]) -> None:
    assert list(faults(composition)) == []


def service(name: str, **changes: Any) -> Change:
    def change(composition: dict[str, Any]) -> None:
        composition["services"][name] |= changes

    return change


def environment(name: str, **changes: str) -> Change:
    def change(composition: dict[str, Any]) -> None:
        composition["services"][name]["environment"] |= changes

    return change


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (service("redis", cap_drop=[]), "redis keeps capabilities"),
        (service("grafana", security_opt=[]), "grafana may gain privileges"),
        (service("worker", read_only=False), "worker has a writable root"),
        (service("jaeger", mem_limit=None), "jaeger has no mem_limit"),
        (service("worker", pids_limit=None), "worker has no pids_limit"),
        (service("server", logging={}), "server fills the disk"),
        (service("redis", image="redis:latest"), "redis is not pinned"),
        (service("prometheus", image="prom/prometheus"), "prometheus is not pinned"),
        (service("server", ports=[{"host_ip": "0.0.0.0"}]), "server is published on 0.0.0.0"),
        (environment("server", LEASEFORGE_AUTH_SECRET="abc"), "server carries a secret"),
        (environment("grafana", GF_SECURITY_ADMIN_PASSWORD="abc"), "grafana carries a secret"),
        (service("worker", secrets=[]), "worker is not given redis_url"),
        (service("worker", stop_grace_period="10s"), "worker is killed while it drains"),
        (service("server", healthcheck={"test": ["CMD", "curl"]}), "not asked by the product's own command"),
        (service("worker", depends_on={}), "worker does not wait for redis"),
        (service("worker", init=False), "as zombies"),
        (environment("worker", LEASEFORGE_WORKER_COUNT="4"), "which nobody reads"),
        (environment("worker", LEASEFORGE_WORKER_QUEUES_FILE="/x"), "which nobody reads"),
        (environment("worker", LEASEFORGE_WORKER_CONCURRENCY="many"), "a wrong LEASEFORGE_WORKER_CONCURRENCY"),
        (service("redis", networks={"store": None, "front": None}), "redis reaches the outside"),
        (service("redis", ports=[{"host_ip": "127.0.0.1"}]), "redis is reached from outside"),
        (lambda composition: composition["networks"]["store"].update(internal=False), "redis reaches the outside"),
    ],
)
def test_what_is_unsafe_is_noticed(composition: dict[str, Any], change: Change, found: str) -> None:
    changed = copy.deepcopy(composition)
    change(changed)

    assert found in " ".join(faults(changed))


def test_nothing_but_redis_server_and_worker_runs_without_a_profile(composition: dict[str, Any]) -> None:
    profiles = {name: one.get("profiles") for name, one in composition["services"].items()}

    assert profiles == {
        "redis": None,
        "server": None,
        "worker": None,
        "jaeger": ["tracing"],
        "prometheus": ["monitoring"],
        "grafana": ["monitoring"],
        "server-sso": ["sso"],
        "sso": ["sso"],
    }


def test_workers_are_set_by_variables() -> None:
    found = read(
        {
            "LEASEFORGE_TASKS": "mytasks more.tasks",
            "LEASEFORGE_WORKERS": "3",
            "LEASEFORGE_WORKER_CONCURRENCY": "40",
            "LEASEFORGE_WORKER_PROCESSES": "2",
            "LEASEFORGE_WORKER_QUEUES": "mail=3,default=1",
        }
    )["services"]["worker"]

    assert found["command"] == ["worker", "mytasks", "more.tasks"]
    assert found["scale"] == 3
    assert found["environment"]["LEASEFORGE_WORKER_CONCURRENCY"] == "40"
    assert found["environment"]["LEASEFORGE_WORKER_PROCESSES"] == "2"
    assert found["environment"]["LEASEFORGE_WORKER_QUEUES"] == "mail=3,default=1"


def test_a_workers_command_is_one_we_have(composition: dict[str, Any]) -> None:
    argv = composition["services"]["worker"]["command"]

    command = leaseforge.get_command(click.Context(leaseforge), argv[0])
    assert command is not None
    assert command.make_context("leaseforge", list(argv[1:])).params["demo"] is True


def test_the_images_are_targets_of_the_dockerfile(composition: dict[str, Any]) -> None:
    file = parse((DOCKER / "Dockerfile").read_text("utf-8"))

    for name in ("server", "worker"):
        build = composition["services"][name]["build"]
        assert (Path(build["context"]) / build["dockerfile"]).resolve() == (DOCKER / "Dockerfile")
        assert build["target"] in file.stages
        assert build["args"] == {"PYTHON_IMAGE": file.arguments["PYTHON_IMAGE"]}
        tag = composition["services"][name]["image"].rpartition(":")[2]
        assert f"VERSION={tag}" in file.stages["runtime"].all("ARG")


def test_every_variable_is_listed_with_what_it_is_unless_set() -> None:
    used = dict(re.findall(r"\$\{(\w+):-((?:[^{}]|\{\w+\})*)\}", (COMPOSE / "compose.yaml").read_text("utf-8")))
    listed = dict(re.findall(r"^#(\w+)=(.*)$", (COMPOSE / "settings.example").read_text("utf-8"), re.MULTILINE))

    assert listed == used


def test_every_file_that_is_mounted_is_there(composition: dict[str, Any]) -> None:
    binds = [
        volume
        for one in composition["services"].values()
        for volume in one.get("volumes", [])
        if volume["type"] == "bind"
    ]

    assert len(binds) == 5
    assert all(Path(bind["source"]).exists() and bind["read_only"] for bind in binds)


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    make_secrets(tmp_path / "secrets")
    return tmp_path / "secrets"


def make_secrets(folder: Path) -> str:
    ended = subprocess.run(
        ["sh", COMPOSE / "make-secrets", folder], capture_output=True, text=True, timeout=60, check=True
    )
    return ended.stderr


def test_every_secret_is_made(composition: dict[str, Any], secrets: Path) -> None:
    wanted = {Path(secret["file"]).name for secret in composition["secrets"].values()}

    assert wanted <= {file.name for file in secrets.iterdir()}
    for name in ("auth_secret", "admin_password", "metrics_token", "grafana_password"):
        assert re.fullmatch(r"[A-Za-z0-9]{43}", (secrets / name).read_text())
    for setting, name in (("LEASEFORGE_AUTH_SECRET", "auth_secret"), ("LEASEFORGE_METRICS_TOKEN", "metrics_token")):
        SETTINGS[setting].parse((secrets / name).read_text())


def test_secrets_are_for_containers_of_any_user_behind_a_folder_of_its_owner(secrets: Path) -> None:
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in secrets.iterdir()} == {0o444}


def test_secrets_that_are_there_stay(secrets: Path) -> None:
    before = {file.name: file.read_text() for file in secrets.iterdir()}
    (secrets / "metrics_token").unlink()

    make_secrets(secrets)

    after = {file.name: file.read_text() for file in secrets.iterdir()}
    assert after.pop("metrics_token") != before.pop("metrics_token")
    assert after == before


def test_the_account_of_redis_is_that_of_the_url(secrets: Path) -> None:
    url = urlsplit((secrets / "redis_url").read_text())

    assert (url.username, url.hostname, url.port) == ("leaseforge", "redis", 6379)
    hashed = hashlib.sha256((url.password or "").encode()).hexdigest()
    accounts = (secrets / "redis_acl").read_text()
    assert f"user leaseforge on #{hashed} " in accounts
    assert "user default off" in accounts


def test_another_redis_keeps_its_own_accounts(secrets: Path) -> None:
    accounts = (secrets / "redis_acl").read_text()
    (secrets / "redis_url").chmod(0o644)
    (secrets / "redis_url").write_text("rediss://me:mine@redis.example.com:6380/0")

    assert "another Redis" in make_secrets(secrets)

    assert (secrets / "redis_url").read_text().startswith("rediss://me:")
    assert (secrets / "redis_acl").read_text() == accounts


@pytest.mark.parametrize("name", OURS)
def test_a_process_can_read_its_settings(composition: dict[str, Any], secrets: Path, name: str) -> None:
    environ = {
        variable: value.replace("/run/secrets", str(secrets))
        for variable, value in composition["services"][name]["environment"].items()
    }

    if name == "worker":
        assert read_settings(WorkerSettings, environ).metrics_token == (secrets / "metrics_token").read_text()
    else:
        settings = ServerSettings.read(environ)
        assert settings.oidc.is_on == (name == "server-sso")
        assert settings.auth.admin_password == (secrets / "admin_password").read_text()


def test_nothing_secret_is_committed() -> None:
    ignored = (COMPOSE / ".gitignore").read_text("utf-8").split()

    assert {"/secrets/", "/.env", "/server.env", "/worker.env"} <= set(ignored)


def test_single_sign_on_and_its_provider_agree(composition: dict[str, Any], secrets: Path) -> None:
    realm = json.loads((secrets / "sso_realm.json").read_text())
    server = composition["services"]["server-sso"]
    [client] = realm["clients"]
    ports = {int(port["published"]) for port in server["ports"]}
    issuer, here = (
        urlsplit(server["environment"]["LEASEFORGE_OIDC_ISSUER"]),
        server["environment"]["LEASEFORGE_WEB_URL"],
    )

    assert issuer.path == f"/realms/{realm['realm']}"
    assert f"{issuer.scheme}://{issuer.netloc}" == composition["services"]["sso"]["environment"]["KC_HOSTNAME"]
    assert str(issuer.port) == composition["services"]["sso"]["environment"]["KC_HTTP_PORT"]
    assert {issuer.port, urlsplit(here).port} == ports
    # Plain http is for loopback, and there both sides have to find it.
    assert composition["services"]["sso"]["network_mode"] == "service:server-sso"
    assert client["clientId"] == server["environment"]["LEASEFORGE_OIDC_CLIENT_ID"]
    assert client["secret"] == (secrets / "sso_client_secret").read_text()
    assert client["redirectUris"] == [f"{here}/api/auth/oidc/callback"]
    groups = {server["environment"][f"LEASEFORGE_OIDC_{role}_GROUPS"] for role in ("ADMIN", "OPERATOR")}
    assert {group["name"] for group in realm["groups"]} == groups
    password = (secrets / "sso_password").read_text()
    assert all(user["credentials"][0]["value"] == password for user in realm["users"])


def test_prometheus_finds_every_container_under_the_names_rules_and_dashboard_know(
    composition: dict[str, Any], tmp_path: Path
) -> None:
    config = yaml.safe_load((COMPOSE / "prometheus.yml").read_text("utf-8"))
    sample = yaml.safe_load((OBSERVABILITY / "prometheus" / "prometheus.yml").read_text("utf-8"))

    assert [job["job_name"] for job in config["scrape_configs"]] == [
        job["job_name"] for job in sample["scrape_configs"]
    ]
    ports = {"server": "LEASEFORGE_API_ADDR", "worker": "LEASEFORGE_METRICS_ADDR"}
    file = parse((DOCKER / "Dockerfile").read_text("utf-8"))
    for job in config["scrape_configs"]:
        [target] = job["dns_sd_configs"]
        [name] = target["names"]
        assert name in composition["services"]
        assert file.environment(name)[ports[name]] == f":{target['port']}"
        assert job["authorization"]["credentials_file"] == "/run/secrets/metrics_token"
    if shutil.which("promtool") is None:
        unavailable("promtool is not installed (Debian: apt-get install prometheus)")
    (tmp_path / "token").write_text("token")
    text = (COMPOSE / "prometheus.yml").read_text("utf-8")
    text = text.replace("/etc/prometheus/rules", str(OBSERVABILITY / "prometheus" / "rules"))
    (tmp_path / "prometheus.yml").write_text(text.replace("/run/secrets/metrics_token", str(tmp_path / "token")))

    argv = ["promtool", "check", "config", str(tmp_path / "prometheus.yml")]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    assert ended.returncode == 0, ended.stderr
    assert "rules found" in ended.stdout


def test_grafana_is_given_what_its_files_ask_for(composition: dict[str, Any]) -> None:
    grafana = composition["services"]["grafana"]
    mounts = {volume["target"]: volume.get("source", "") for volume in grafana["volumes"]}
    provider = yaml.safe_load((OBSERVABILITY / "grafana/provisioning/dashboards/leaseforge.yml").read_text("utf-8"))
    source = (OBSERVABILITY / "grafana/provisioning/datasources/prometheus.yml").read_text("utf-8")

    [dashboards] = [one["options"]["path"] for one in provider["providers"]]
    assert list(Path(mounts[dashboards]).glob("*.json"))
    assert (Path(mounts["/etc/grafana/provisioning"]) / "datasources").is_dir()
    [variable] = re.findall(r"url: \$(\w+)", source)
    assert urlsplit(grafana["environment"][variable]).hostname in composition["services"]
