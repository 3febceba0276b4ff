"""Enqueueing over HTTP, one server process: singly and in bulk, with and without coalescing, beside the engine."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bench.enqueues import EnqueueInBulk, EnqueueSingly, EnqueueTogether
from bench.filling import PAYLOAD, count_stored
from bench.measuring import Figures, Meter
from bench.server import QUEUE, Bench
from bench.serving import Connection, Served, serving
from bench.workload import Side, Workload

CLIENTS = (1, 8, 64)
PER_REQUEST = 100
"""Jobs in a bulk request: as many as a program collects that does not wait for long."""


@dataclass(frozen=True, slots=True)
class OverHttp:
    """Clients with a connection each that send their next request when the last one is answered.

    `bulk` is the number of jobs in a request, 0 for `POST /api/jobs`.
    """

    clients: int
    bulk: int = 0
    coalesces: bool = True

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Enqueues so many; `python_us` is the server process' time a job."""
        with serving(bench, coalesces=self.coalesces) as served:
            figures = asyncio.run(self._measure(bench, served, jobs))
        count_stored(bench, jobs + self.clients * (self.bulk or 1))
        return figures

    async def _measure(self, bench: Bench, served: Served, jobs: int) -> Figures:
        connections = [await Connection.open(served) for _ in range(self.clients)]
        try:
            await self.from_all(connections, self.requests(served, self.clients * (self.bulk or 1)))
            requests = self.requests(served, jobs)
            meter = Meter(bench, [served.process.pid])
            await self.from_all(connections, requests)
            return meter.stop(jobs)
        finally:
            for connection in connections:
                connection.close()

    def requests(self, served: Served, jobs: int) -> list[bytes]:
        """The requests that enqueue so many jobs."""
        job = {"type": "nothing", "payload": PAYLOAD, "queue": QUEUE}
        if not self.bulk:
            return [served.request("/api/jobs", job)] * jobs
        sizes = (self.bulk, jobs % self.bulk)
        full, rest = (served.request("/api/jobs/bulk", {"jobs": [job] * size}) for size in sizes)
        return [full] * (jobs // self.bulk) + [rest] * (jobs % self.bulk > 0)

    async def from_all(self, connections: Sequence[Connection], requests: Sequence[bytes]) -> None:
        """Sends them all, each connection its next one when it has an answer. Raises WorkloadFailed."""
        left = iter(requests)

        async def client(connection: Connection) -> None:
            for request in left:
                await connection.send(request)

        try:
            async with asyncio.TaskGroup() as group:
                for connection in connections:
                    group.create_task(client(connection))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None


def _single(clients: int) -> tuple[Workload, Workload]:
    floor: Side = EnqueueSingly() if clients == 1 else EnqueueTogether(clients)
    name = f"http, {clients} client{'s' if clients > 1 else ''}"
    return (
        Workload(name, OverHttp(clients), floor, share=0.1),
        Workload(f"{name}, each", OverHttp(clients, coalesces=False), floor, share=0.1),
    )


HTTP = (
    *(work for clients in CLIENTS for work in _single(clients)),
    *(Workload(f"http bulk, {clients}", OverHttp(clients, PER_REQUEST), EnqueueInBulk()) for clients in CLIENTS),
)
