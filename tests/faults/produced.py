"""Producers that remember what the store told them of every job: the other half of the evidence."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self
from uuid import uuid4

from leaseforge.client import Client
from leaseforge.errors import LeaseforgeError, StoreUnavailable
from leaseforge.jobs import NewJob
from leaseforge.requests import new_job


@dataclass
class Produced:
    """Ids by what their producer knows: acknowledged, refused for good, or unknown because no answer came."""

    acknowledged: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)

    def add(self, *ids: str) -> None:
        """These were acknowledged elsewhere."""
        self.acknowledged.update(ids)


class Producer(threading.Thread):
    """Enqueues `count` jobs one by one from a thread; `make(number, id)` builds each.

    Every job is sent once, with retries of the client's own for `retry_s`; what happened to it lands in `produced`.
    """

    def __init__(
        self,
        url: str,
        produced: Produced,
        *,
        count: int,
        make: Callable[[int, str], NewJob] | None = None,
        retry_s: float = 60.0,
        pause_s: float = 0.0,
    ) -> None:
        super().__init__(daemon=True)
        self._url = url
        self._produced = produced
        self._count = count
        self._make = make or (lambda number, id: new_job("work", {"ms": 10}, id=id))
        self._retry_s = retry_s
        self._pause_s = pause_s
        self._enough = threading.Event()

    def run(self) -> None:
        """Sends all jobs, or as many as it comes to before `stop`."""
        with Client(self._url, retry_s=self._retry_s) as client:
            for number in range(self._count):
                if self._enough.wait(self._pause_s) if self._pause_s else self._enough.is_set():
                    return
                self._send(client, self._make(number, str(uuid4())))

    def stop(self) -> None:
        """Sends no further job."""
        self._enough.set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.join(90)

    def _send(self, client: Client, job: NewJob) -> None:
        try:
            [answer] = client.enqueue_many([job])
        except StoreUnavailable:
            self._produced.unknown.add(job.id)
        except LeaseforgeError:
            self._produced.refused.add(job.id)
        else:
            self._produced.acknowledged.add(answer.id)
