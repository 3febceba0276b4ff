"""`leaseforge dev`: the whole product on one machine, with nothing to install or configure first."""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click

from leaseforge.embedded import EmbeddedServer
from leaseforge.server_binary import EmbeddedServerError
from leaseforge.settings import read
from leaseforge.store import Store, connect
from leaseforge_auth.settings import AuthSettings
from leaseforge_cli.banner import banner
from leaseforge_cli.data_folder import DataFolder
from leaseforge_cli.demo_load import run_demo_load
from leaseforge_cli.first_login import Login, first_login, server_environment, worker_environment
from leaseforge_cli.listening import check_free, local_url, wait_until_ready
from leaseforge_cli.settings import DevSettings
from leaseforge_cli.stopping import StopRequests
from leaseforge_cli.supervision import FIRST_PAUSE_S, LONGEST_PAUSE_S, Child

LOOK_AT_REDIS_EVERY_S = 0.5
SERVER_STOPS_WITHIN_S = 15.0
# A worker that drains needs a moment more than its drain time to release what is left and leave.
WORKER_LEAVES_WITHIN_S = 10.0


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".leaseforge"),
    show_default=True,
    help="Where the embedded server's data and the signing secret are kept.",
)
@click.option("--load/--no-load", default=None, help="Enqueue demo jobs, a few a second (LEASEFORGE_DEMO_LOAD).")
def dev(data_dir: Path, load: bool | None) -> None:
    """Run everything on this machine: server, worker and an embedded Redis.

    With LEASEFORGE_REDIS_URL set that Redis is used and none is embedded. Ctrl-C stops everything in order, a second
    one at once. A part that dies is started again.
    """
    settings = read(DevSettings, os.environ)
    if load is not None:
        settings = replace(settings, demo_load=load)
    asyncio.run(_develop(settings, DataFolder(data_dir)))


async def _develop(settings: DevSettings, folder: DataFolder) -> None:
    """Bring up Redis, then the rest on it."""
    check_free(settings.api_address)
    stop = StopRequests()
    if settings.redis_url is not None:
        await _Parts(settings, folder, stop, settings.redis_url, None).run()
        return
    redis = EmbeddedServer(folder.redis)
    await asyncio.to_thread(redis.start)
    _say("redis runs already" if redis.is_reused else f"redis started, its data is in {folder.redis}")
    try:
        await _Parts(settings, folder, stop, redis.url, redis).run()
    finally:
        await asyncio.to_thread(redis.stop)
        _say("redis stopped" if redis.pid is None else "redis stays up: another program runs it")


class _Parts:
    """Everything above Redis: the server, the worker, the demo load, and how they stop."""

    def __init__(
        self,
        settings: DevSettings,
        folder: DataFolder,
        stop: StopRequests,
        redis_url: str,
        redis: EmbeddedServer | None,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._stop = stop
        self._redis_url = redis_url
        self._redis = redis

    async def run(self) -> None:
        """Run until a stop is requested, or until one part cannot run at all."""
        store = connect(self._redis_url)
        try:
            await store.check()
            environ = {**os.environ, "LEASEFORGE_REDIS_URL": self._redis_url}
            login = await first_login(store, environ, self._folder)
            for_server = server_environment(environ, self._folder, login)
            read(AuthSettings, for_server)  # a wrong one is told here, in one line
            await self._run_children(store, login, for_server, worker_environment(environ))
        finally:
            await store.aclose()

    async def _run_children(
        self, store: Store, login: Login, for_server: Mapping[str, str], for_worker: Mapping[str, str]
    ) -> None:
        server = Child("server", ["server"], for_server, _say)
        worker = Child("worker", ["worker", "--demo", "--queues", "*"], for_worker, _say)
        try:
            async with asyncio.TaskGroup() as group:
                load = group.create_task(self._announce_and_load(store, login, for_server))
                keepers = [group.create_task(child.keep()) for child in (server, worker)]
                if self._redis is not None:
                    keepers.append(group.create_task(_keep_redis(self._redis)))
                try:
                    await self._stop.requested.wait()
                    _say("stopping: the worker finishes what it runs (Ctrl-C again: at once)")
                finally:
                    load.cancel()
                    await self._stop_in_order(worker, server)
                    for keeper in keepers:
                        keeper.cancel()
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _announce_and_load(self, store: Store, login: Login, for_server: Mapping[str, str]) -> None:
        await wait_until_ready(self._settings.api_address, for_server.get("LEASEFORGE_ROOT_PATH", ""))
        with contextlib.suppress(OSError):
            url = local_url(self._settings.api_address) + for_server.get("LEASEFORGE_ROOT_PATH", "").rstrip("/")
            click.echo(banner(url, login))
            self._folder.password_was_shown()
        if self._settings.demo_load:
            await run_demo_load(store)

    async def _stop_in_order(self, worker: Child, server: Child) -> None:
        """The worker while the server can still show it, then the server; everything at once when that is asked for."""

        async def in_order() -> None:
            await worker.stop(within_s=self._settings.drain_s + WORKER_LEAVES_WITHIN_S)
            await server.stop(within_s=SERVER_STOPS_WITHIN_S)

        orderly = asyncio.create_task(in_order())
        urgent = asyncio.create_task(self._stop.urgent.wait())
        await asyncio.wait((orderly, urgent), return_when=asyncio.FIRST_COMPLETED)
        if not orderly.done():
            _say("stopping at once")
            worker.kill()
            server.kill()
        urgent.cancel()
        await orderly


async def _keep_redis(redis: EmbeddedServer) -> None:
    """Start the embedded server again, on the same data, whenever it has died."""
    pause_s = FIRST_PAUSE_S
    while True:
        await asyncio.sleep(LOOK_AT_REDIS_EVERY_S)
        if not await asyncio.to_thread(redis.has_died):
            continue
        _say("redis died; starting it again on the same data")
        try:
            await asyncio.to_thread(redis.start)
            pause_s = FIRST_PAUSE_S
        except EmbeddedServerError as error:
            _say(f"redis: {error}; next try in {pause_s:g} s")
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


def _say(line: str) -> None:
    """One line to the terminal, which may be gone already."""
    with contextlib.suppress(OSError):
        click.echo(f"leaseforge: {line}")
