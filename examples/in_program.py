"""A worker inside a program, beside whatever else the program does: `python in_program.py`.

It needs no second process and no command line; jobs that it leaves behind are any other worker's.
"""

import os
import time
from collections.abc import Sequence

from leaseforge import Client, Context, JobState, logs, task
from leaseforge_worker.worker import Worker

URL = os.environ.get("LEASEFORGE_REDIS_URL", "redis://127.0.0.1:6379/0")


@task
def word_count(ctx: Context, text: str) -> int:
    """How many words a text has."""
    return len(text.split())


def count_words(url: str, texts: Sequence[str]) -> list[int]:
    """Counts the words of texts as jobs of a queue that only this program serves, and waits for the results."""
    with Client(url) as client, Worker.of([word_count], redis_url=url, queues="words", concurrency=4):
        ids = [client.enqueue("word_count", text, queue="words").id for text in texts]
        return [int(_result(client, job_id)) for job_id in ids]
    # Leaving the block drains the worker: what runs is finished, what waits goes back.


def _result(client: Client, job_id: str) -> bytes:
    while (job := client.job(job_id)).state is not JobState.COMPLETED:
        if job.state is JobState.DEAD:
            raise RuntimeError(f"the job failed: {job.error}")
        time.sleep(0.02)
    return job.result or b""


if __name__ == "__main__":
    logs.configure("warning")  # a program decides what becomes of log lines; these go to standard output as JSON
    print(count_words(URL, ["to be or not to be", "that is the question"]))
