"""How a queue becomes known, and stays known."""

from leaseforge import operations, reads
from leaseforge.requests import new_job
from tests.support.live_queue import LiveQueue


def enqueue(line: LiveQueue, queue: str) -> None:
    line.run(operations.enqueue(new_job("work", queue=queue)))


def names_sent(line: LiveQueue) -> int:
    """How often a queue's name was told to the server."""
    stats = line.raw.info("commandstats")
    return int(stats["cmdstat_zscore"]["calls"]) if "cmdstat_zscore" in stats else 0


def test_a_known_queue_is_not_named_again_with_each_job(line: LiveQueue) -> None:
    enqueue(line, "mail")
    before = names_sent(line)

    for _ in range(5):
        enqueue(line, "mail")

    assert names_sent(line) == before


def test_a_queue_is_named_again_after_the_server_lost_its_data(line: LiveQueue) -> None:
    enqueue(line, "mail")
    line.raw.flushdb()

    enqueue(line, "mail")

    assert line.run(reads.queue_names()) == ["mail"]
