"""Long runs at any size, with their figures: `python -m tests.soak idle --workers 100 --seconds 60`.

Each starts a server of its own (LEASEFORGE_TEST_SERVER: embedded or redis) and the workers it needs.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from leaseforge.store import connect_sync
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced
from tests.faults.workers import Crew
from tests.soak.drains import drain_again_and_again
from tests.soak.holding import Load, hold
from tests.soak.idle import measure_idle
from tests.soak.memory import watch_memory
from tests.soak.wakeups import SHAPES, provoke
from tests.support import OwnServer, Process, start_server


class Bench:
    """A server, a folder, and processes that end with it."""

    def __init__(self, server: OwnServer, folder: Path, ending: ExitStack) -> None:
        self.server = server
        self.folder = folder
        self.url = server.clean_database()
        self._ending = ending
        self._count = 0

    def start(
        self, argv: Sequence[str | Path], *, env: Mapping[str, str | None] | None = None, cwd: Path | None = None
    ) -> Process:
        self._count += 1
        output = self.folder / f"process-{self._count}.log"
        return self._ending.enter_context(Process(argv, output_file=output, env=env, cwd=cwd))


@contextmanager
def a_bench() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="leaseforge-soak-") as folder, ExitStack() as ending:
        server = start_server(Path(folder) / "server")
        ending.callback(server.embedded.stop)
        yield Bench(server, Path(folder), ending)


def idle(words: argparse.Namespace) -> None:
    with a_bench() as bench, connect_sync(bench.url) as store:
        found = measure_idle(
            bench.start,
            store,
            bench.url,
            workers=words.workers,
            seconds=words.seconds,
            jobs=words.jobs,
            delayed=words.delayed,
        )
    print(found)


def wakeups(words: argparse.Namespace) -> None:
    for shape in SHAPES:
        with a_bench() as bench, connect_sync(bench.url) as store:
            done = provoke(
                bench.start,
                store,
                bench.url,
                bench.folder,
                tries=words.tries // len(SHAPES),
                chance=random.Random(words.seed),
                **shape,
            )
        print(shape, done, flush=True)


def holding(words: argparse.Namespace) -> None:
    load = Load(
        sleeps=words.sleeps,
        blocks=words.blocks,
        computes=words.computes,
        computes_apart=words.computes_apart,
        seconds=words.seconds,
    )
    with a_bench() as bench, connect_sync(bench.url) as store:
        print(hold(bench.start, store, bench.url, load))


def memory(words: argparse.Namespace) -> None:
    with a_bench() as bench, connect_sync(bench.url) as store:
        print(watch_memory(bench.start, store, bench.url, jobs=words.jobs))


def drains(words: argparse.Namespace) -> None:
    with a_bench() as bench, connect_sync(bench.url) as store:
        ledger, produced = Ledger(bench.folder), Produced()
        crew = Crew(bench.start, bench.url, ledger)
        chance = random.Random(words.seed)
        print(drain_again_and_again(crew, store, ledger, produced, times=words.times, chance=chance))


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    runs = parser.add_subparsers(required=True)

    def add(run: Callable[[argparse.Namespace], None], about: str, **sizes: float) -> None:
        own = runs.add_parser(run.__name__, help=about)
        own.set_defaults(run=run)
        for name, default in sizes.items():
            own.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)

    add(idle, "what idle workers ask of Redis, and how soon they wake", workers=1, seconds=60.0, jobs=500, delayed=20)
    add(wakeups, "jobs that come while workers go idle", tries=100_000, seed=1)
    add(
        holding,
        "a worker that holds many jobs for long",
        sleeps=500,
        blocks=488,
        computes=4,
        computes_apart=8,
        seconds=600.0,
    )
    add(memory, "a worker's memory over many jobs", jobs=200_000)
    add(drains, "workers told to go under load", times=50, seed=1)
    chosen = parser.parse_args(words)
    chosen.run(chosen)


if __name__ == "__main__":
    main(sys.argv[1:])
