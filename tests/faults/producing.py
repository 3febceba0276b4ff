"""A producer process: enqueues numbered jobs, each under its own idempotency key, and prints the ids it was told."""

import os

from leaseforge.client import Client

if __name__ == "__main__":
    with Client(os.environ["LEASEFORGE_REDIS_URL"]) as client:
        for number in range(int(os.environ["COUNT"])):
            answer = client.enqueue("work", {"ms": number}, idempotency_key=f"key-{number}")
            print(number, answer.id, flush=True)
