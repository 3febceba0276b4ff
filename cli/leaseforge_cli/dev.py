"""`leaseforge dev`: the whole product on one machine, with nothing to install or configure first."""

import asyncio
import contextlib
import os
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path

import click

from leaseforge.embedded import EmbeddedServer
from leaseforge.server_binary import EmbeddedServerError
from leaseforge.settings import read
from leaseforge.store import Store, connect
from leaseforge_api.settings import HttpSettings, ServerSettings
from leaseforge_cli.banner import banner
from leaseforge_cli.data_folder import DataFolder
from leaseforge_cli.demo_load import run_demo_load
from leaseforge_cli.first_login import Login, first_login, server_environment, worker_environment
from leaseforge_cli.listening import check_free, local_url, wait_until_ready
from leaseforge_cli.parts import Parts
from leaseforge_cli.settings import DevSettings
from leaseforge_cli.stopping import StopRequests
from leaseforge_cli.supervision import FIRST_PAUSE_S, LONGEST_PAUSE_S, Child

LOOK_AT_REDIS_EVERY_S = 0.5


@click.command()
@click.argument("modules", nargs=-1, metavar="[MODULE[:TASK]]...")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".leaseforge"),
    show_default=True,
    help="Where the embedded server's data and the signing secret are kept.",
)
@click.option("--load/--no-load", default=None, help="Enqueue demo jobs, a few a second (LEASEFORGE_DEMO_LOAD).")
def dev(modules: tuple[str, ...], data_dir: Path, load: bool | None) -> None:
    """Run everything on this machine: server, worker and an embedded Redis.

    The worker runs the demo tasks, and those of the given modules, from every queue. With LEASEFORGE_REDIS_URL set
    that Redis is used and none is embedded. Ctrl-C stops everything in order, a second one at once. A part that dies
    is started again.
    """
    settings = read(DevSettings, os.environ)
    if load is not None:
        settings = replace(settings, demo_load=load)
    check_free(read(HttpSettings, os.environ).api_addr)
    asyncio.run(_develop(settings, DataFolder(data_dir), modules))


async def _develop(settings: DevSettings, folder: DataFolder, modules: Sequence[str]) -> None:
    """Bring up Redis unless one is given, then the rest on it."""
    stop = StopRequests()
    if settings.redis_url is not None:
        await _run_on(settings.redis_url, settings, folder, modules, stop)
        return
    redis = EmbeddedServer(folder.redis)
    await asyncio.to_thread(redis.start)
    _say("redis runs already" if redis.is_reused else f"redis started, its data is in {folder.redis}")
    try:
        await _run_on(redis.url, settings, folder, modules, stop, _keep_up(redis))
    finally:
        await asyncio.to_thread(redis.stop)
        _say("redis stopped" if redis.pid is None else "redis stays up: another program runs it")


async def _run_on(
    redis_url: str,
    settings: DevSettings,
    folder: DataFolder,
    modules: Sequence[str],
    stop: StopRequests,
    *besides: Coroutine[object, object, None],
) -> None:
    """Run everything above Redis until a stop is requested, or until one part cannot run at all."""
    async with contextlib.AsyncExitStack() as closing:
        for work in besides:
            closing.callback(work.close)  # when we fail before it could start
        store = connect(redis_url)
        closing.push_async_callback(store.aclose)
        await store.check()
        environ = {**os.environ, "LEASEFORGE_REDIS_URL": redis_url}
        environ.pop("LEASEFORGE_REDIS_URL_FILE", None)  # read already, and two sources would be refused
        login = await first_login(store, environ, folder)
        for_server = server_environment(environ, folder, login)
        # Read here too, so that a wrong setting is told in one line and not by a child that keeps dying.
        server_settings = ServerSettings.read(for_server)
        for_worker = worker_environment(environ, api_port=server_settings.http.api_addr[1])
        parts = Parts(
            worker=Child(
                "worker", ["worker", "--demo", "--queues", "*", "--processes", "1", *modules], for_worker, _say
            ),
            server=Child("server", ["server"], for_server, _say),
            drain_s=settings.drain_s,
            say=_say,
        )
        load = _announce_and_load(store, settings, server_settings, folder, login)
        await parts.run(stop, load=load, besides=besides)


async def _announce_and_load(
    store: Store, settings: DevSettings, server: ServerSettings, folder: DataFolder, login: Login
) -> None:
    """Say where to go once somebody can go there, then enqueue demo jobs if that is wanted."""
    address, root_path = server.http.api_addr, server.auth.root_path
    await wait_until_ready(address, root_path)
    with contextlib.suppress(OSError):
        click.echo(banner(local_url(address) + root_path, login))
        folder.password_was_shown()
    if settings.demo_load:
        await run_demo_load(store)


async def _keep_up(redis: EmbeddedServer) -> None:
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
