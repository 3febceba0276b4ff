"""Redis is full, or away: who may come in still may, who may not still may not, and what is done is written down."""

import signal
from pathlib import Path

import redis

from tests.faults.servers import FaultyServer
from tests.security.conftest import PASSWORD, Serve
from tests.support import eventually_sync


def test_at_the_limit_of_memory_one_can_log_in_and_make_room(serve: Serve, redis_url: str) -> None:
    server = serve()
    admin = server.login()
    with server.client() as client, redis.Redis.from_url(redis_url) as raw:
        job = {"jobs": [{"type": "echo"}] * 200}
        assert client.post("/api/jobs/bulk", json=job, headers=admin).status_code == 200
        raw.config_set("maxmemory", 1)
        try:
            refused = client.post("/api/jobs", json={"type": "echo"}, headers=admin)
            assert refused.status_code == 503
            assert refused.json()["type"].endswith("store-full")
            again = server.login()
            page = client.post(
                "/console/login",
                data={"username": "admin", "password": PASSWORD},
                headers={"Sec-Fetch-Site": "same-origin"},
            )
            assert page.status_code == 303
            purged = client.post("/api/queues/default/purge", json={"reason": "full"}, headers=again)
            assert purged.json() == {"removed": 200}
            [entry] = client.get("/api/audit?action=queue.purge", headers=again).json()["items"]
            assert (entry["result"], entry["reason"], entry["detail"]) == ("ok", "full", {"removed": 200})
        finally:
            raw.config_set("maxmemory", 0)


def test_while_redis_is_away_every_door_is_closed(serve: Serve, tmp_path: Path) -> None:
    with FaultyServer(tmp_path / "redis") as own:
        server = serve(REDIS_URL=own.url)
        admin = server.login()
        with server.client() as client:
            own.kill()
            for headers in (admin, {"Authorization": f"Bearer lf_{'0' * 16}_{'A' * 43}"}):
                answer = client.get("/api/queues", headers=headers)
                assert answer.status_code == 503
                assert "retry-after" in answer.headers
            login = client.post("/api/auth/login", json={"username": "admin", "password": PASSWORD})
            assert login.status_code == 503
            assert client.get("/api/queues").status_code == 401
            assert client.get("/console", headers={"Cookie": f"leaseforge={'x' * 43}"}).status_code == 503
            assert client.post("/api/queues/default/pause", headers=admin).status_code == 503
            assert client.get("/livez").status_code == 200
            assert client.get("/health").status_code == 503
            own.start()
            eventually_sync(lambda: client.get("/api/queues", headers=admin).status_code == 200, within_s=60)
        server.process.signal(signal.SIGTERM)
        assert server.process.wait() == 0
