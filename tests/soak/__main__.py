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
from tests.soak.idle import measure_idle
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
            bench.start, store, bench.url, workers=words.workers, seconds=words.seconds, jobs=words.jobs
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


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    runs = parser.add_subparsers(required=True)

    def add(run: Callable[[argparse.Namespace], None], about: str, **sizes: float) -> None:
        own = runs.add_parser(run.__name__, help=about)
        own.set_defaults(run=run)
        for name, default in sizes.items():
            own.add_argument(f"--{name}", type=type(default), default=default)

    add(idle, "what idle workers ask of Redis, and how soon they wake", workers=1, seconds=60.0, jobs=500)
    add(wakeups, "jobs that come while workers go idle", tries=100_000, seed=1)
    chosen = parser.parse_args(words)
    chosen.run(chosen)


if __name__ == "__main__":
    main(sys.argv[1:])
