"""Canary secrets are driven through a whole server and a worker; none may come out where people look."""

import json
import subprocess
from collections.abc import Callable

import httpx
import redis

from tests.security.conftest import PASSWORD, SECRET, Running, Serve, leaseforge
from tests.support import Process, eventually_sync, free_port

PAYLOAD_SECRET = "canary-payload-4f7a"
WRONG_PASSWORD = "canary-wrong-password-81bc"
TYPED_AS_NAME = "canary-typed-as-name-77de"
CODE = "canary-code-cc21"


def test_no_secret_comes_out_of_logs_metrics_trail_errors_or_process_lists(
    serve: Serve, processes: Callable[..., Process], redis_url: str
) -> None:
    server = serve(LOG_LEVEL="debug")
    metrics = f"127.0.0.1:{free_port()}"
    worker = processes(
        leaseforge("worker", "--demo"),
        env={
            "LEASEFORGE_REDIS_URL": redis_url,
            "LEASEFORGE_LOG_LEVEL": "debug",
            "LEASEFORGE_METRICS_ADDR": metrics,
        },
    )
    admin = server.login()
    said, secrets = _use_everything(server, admin)
    with server.client() as client:
        done = client.get(f"/api/jobs/{said['job']}", headers=admin).json()
        eventually_sync(lambda: _is_over(server, admin, said["job"]), within_s=60)
        seen = {
            "job": json.dumps(done),
            "metrics": client.get("/metrics").text,
            "worker's metrics": httpx.get(f"http://{metrics}/metrics").text,
            "audit trail": client.get("/api/audit/export", headers=admin).text,
            "an error": client.get("/api/jobs/nowhere", headers=admin).text,
            "a page that is missing": client.get(f"/console/{CODE}x").text.replace(CODE, ""),
            "ps": subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout,
        }
    server.process.end()
    worker.end()
    seen |= {"the server's log": server.process.output(), "the worker's log": worker.output()}

    for place, text in seen.items():
        for name, secret in secrets.items():
            assert secret not in text, f"{name} is in {place}"


def _is_over(server: Running, admin: dict[str, str], job_id: str) -> bool:
    with server.client() as client:
        status = client.get(f"/api/jobs/{job_id}", headers=admin).json()["status"]
    return bool(status in ("completed", "dead", "retrying"))


def _use_everything(server: Running, admin: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Every secret this product knows, used once: the id of a job, and the secrets by name."""
    with server.client() as client:
        token = client.post("/api/tokens", json={"name": "t", "role": "viewer"}, headers=admin).json()["token"]
        client.get("/api/queues", headers={"Authorization": f"Bearer {token}"})
        client.get("/api/queues", headers={"Authorization": f"Bearer {token}x"})
        client.post("/api/auth/login", json={"username": "admin", "password": WRONG_PASSWORD})
        client.post("/api/auth/login", json={"username": TYPED_AS_NAME, "password": "x"})
        client.get(f"/api/auth/oidc/callback?code={CODE}&state={CODE}")
        payload = {"password": PAYLOAD_SECRET, "nested": [{"api_key": PAYLOAD_SECRET}]}
        job = client.post("/api/jobs", json={"type": "echo", "payload": payload}, headers=admin).json()["id"]
        client.post("/api/jobs", json={"type": "echo", "payload": payload, "queue": "a b"}, headers=admin)
        new_user = {"username": "ada", "roles": ["viewer"], "password": WRONG_PASSWORD}
        client.post("/api/users", json=new_user, headers=admin)
        page = client.post(
            "/console/login",
            data={"username": "admin", "password": PASSWORD},
            headers={"Sec-Fetch-Site": "same-origin"},
        )
        cookie = page.headers["set-cookie"].partition(";")[0].partition("=")[2]
        client.get("/console", headers={"Cookie": f"leaseforge={cookie}"})
    secrets = {
        "the signing secret": SECRET,
        "a password": PASSWORD,
        "a wrong password": WRONG_PASSWORD,
        "what was typed as a name": TYPED_AS_NAME,
        "an access token": admin["Authorization"].removeprefix("Bearer "),
        "an API token": token,
        "a session cookie": cookie,
        "a one-time code": CODE,
        "a payload's secret": PAYLOAD_SECRET,
    }
    return {"job": job}, secrets


def test_a_password_in_the_address_of_redis_is_shown_nowhere(processes: Callable[..., Process], redis_url: str) -> None:
    port = free_port()
    away = f"redis://:canary-dsn-0a1b@127.0.0.1:{port}/0"
    with redis.Redis.from_url(redis_url) as reachable:
        assert reachable.ping()
    for command in (("server",), ("worker", "--demo"), ("audit", "verify"), ("users", "list")):
        failed = processes(
            leaseforge(*command),
            env={"LEASEFORGE_REDIS_URL": away, "LEASEFORGE_AUTH_SECRET": SECRET, "LEASEFORGE_METRICS_ADDR": "off"},
        )
        assert failed.wait(within_s=60) != 0
        assert "canary-dsn" not in failed.output()
        assert SECRET not in failed.output()
