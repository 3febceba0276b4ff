"""The floor of everything a worker does: the engine's own exchange in a bare loop; `python -m bench.bare SPEC`.

It claims a batch, and settles it with the next claim. It runs no handler and has no event loop, threads, renewal or
sweeps: what it takes is what the scripts, the calls' packing and reading, and the round trip take.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence

import msgspec
import redis

from bench.processes import BareSpec
from bench.server import QUEUE
from leaseforge import JobState
from leaseforge.claimed import Claimed
from leaseforge.exchanges import Exchanged, Outcome, Settlement, exchange
from leaseforge.keys import queue_key
from leaseforge.store import SyncStore, connect_sync

LEASE_MS = 10_000
MAX_ATTEMPTS = 3
RETRY_MS = 1


class BareLoop:
    """One claimant without a worker around it."""

    def __init__(self, store: SyncStore, spec: BareSpec) -> None:
        self._store = store
        self._batch = spec.batch
        self._settle = _failure if spec.fails else _completion
        self._run_id = f"bare-{os.getpid()}"
        self._number = 0

    def exchange(self, want: int, ended: Sequence[Claimed] = ()) -> Exchanged:
        """Settles what `ended`, claims up to `want`."""
        self._number += 1
        call = exchange(
            QUEUE,
            run_id=self._run_id,
            number=self._number,
            lease_ms=LEASE_MS,
            want=want,
            settlements=[self._settle(claimed) for claimed in ended],
        )
        return self._store.run(call)

    def batches(self) -> Iterator[Sequence[Claimed]]:
        """Claims batch after batch until nothing is left, also nothing that failed and waits."""
        ended: Sequence[Claimed] = ()
        waiting = 0
        while True:
            answer = self.exchange(self._batch, ended)
            waiting += answer.states.count(JobState.RETRYING)
            waiting -= sum(claimed.failures > 0 for claimed in answer.claimed)
            ended = answer.claimed
            if ended:
                yield ended
            elif not waiting:
                return


def _completion(claimed: Claimed) -> Settlement:
    return Settlement(claimed.id, claimed.token, Outcome.COMPLETE)


def _failure(claimed: Claimed) -> Settlement:
    return Settlement(
        claimed.id,
        claimed.token,
        Outcome.FAIL,
        error_kind="ValueError",
        error_message="as it should",
        max_attempts=MAX_ATTEMPTS,
        delay_ms=RETRY_MS,
        job_type=claimed.type,
    )


def _latencies(loop: BareLoop, url: str, expects: int) -> list[int]:
    """Waits on the wake token as a worker does; the ns from each job's enqueue to the moment it is in hand."""
    decode = msgspec.json.Decoder(dict[str, int]).decode
    taken: list[int] = []
    with redis.Redis.from_url(url) as waiting:
        while len(taken) < expects:
            if waiting.blpop([queue_key(QUEUE, "wake")], timeout=30) is None:
                break
            for batch in loop.batches():
                now = time.monotonic_ns()
                taken += [now - decode(claimed.payload)["sent_ns"] for claimed in batch]
    return taken


def main(spec: BareSpec) -> None:
    """Says "ready", waits for a line, works, reports as one line of JSON, and stays until its input ends."""
    with connect_sync(spec.url) as store:
        loop = BareLoop(store, spec)
        loop.exchange(0)
        print('"ready"', flush=True)
        sys.stdin.readline()
        report = _latencies(loop, spec.url, spec.expects) if spec.expects else [sum(map(len, loop.batches()))]
        print(msgspec.json.encode(report).decode(), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=BareSpec))
