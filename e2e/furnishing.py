"""The shop whose console is photographed: its queues, its trouble, and the hour that led there."""

import math
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import redis

from e2e.producing import enqueue, pause, wait_for_state
from e2e.product import Product
from leaseforge.jobs import JobState
from leaseforge.keys import SYSTEM, queue_key
from tests.support import Process

_WORKER = (Path(sys.executable).with_name("leaseforge"), "worker", "shop", "--demo")
# Tracebacks name the file: the pictures show a path of the shop, not one of whoever took them.
_SHOP = Path(tempfile.gettempdir()) / "shop"
# Queue -> jobs a second that ended well over the last quarter of an hour.
HISTORY = {"default": 210.0, "mail": 140.0, "billing": 31.0, "webhooks": 2.0}
# Queue -> type -> jobs in five minutes, the share that fails, the usual classes of run and wait time.
TYPES = {
    "default": {"generate_pdf": (41_000, 0.001, 11, 4), "index_doc": (22_000, 0.0, 4, 3)},
    "mail": {"send_email": (42_000, 0.003, 7, 5)},
    "billing": {"charge_card": (9_000, 0.18, 11, 6)},
    "webhooks": {"call_webhook": (600, 0.012, 9, 4)},
}


def furnish(product: Product) -> Mapping[str, str]:
    """A shop with trouble: a failing payment provider, a queue nobody serves, a paused one. Returns jobs to show."""
    _SHOP.mkdir(exist_ok=True)
    shutil.copy(Path(__file__).with_name("shop.py"), _SHOP)
    product.workers.append(
        Process(
            [*_WORKER, "--queues", "default,mail,billing,webhooks", "--concurrency", "32"],
            output_file=product.folder / "shop.log",
            env={"LEASEFORGE_REDIS_URL": product.redis_url, "LEASEFORGE_METRICS_ADDR": "127.0.0.1:0"},
            cwd=_SHOP,
        )
    )
    product.workers[0].wait_for_output("worker_started")
    orders = [
        enqueue(
            product,
            "billing",
            type="charge_card",
            payload={
                "order": 90_312 + number,
                "amount": {"value": f"{number % 90 + 9.90:.2f}", "currency": "EUR"},
                "card_token": "tok_1PqX",
                "note": "gift — wrap it",
            },
            tags=("checkout", "eu"),
            max_attempts=3,
            priority=10,
            traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        )[0]
        for number in range(12)
    ]
    [mail] = enqueue(product, "mail", type="send_email", payload={"to": "ada@example.org", "template": "welcome"})
    enqueue(product, "mail", count=60, type="send_email", payload={"to": "ada@example.org", "template": "welcome"})
    enqueue(product, "webhooks", count=8, payload={"event": "order.paid"})
    for order in orders:
        wait_for_state(product, order, JobState.DEAD)
    wait_for_state(product, mail, JobState.COMPLETED)
    sync = enqueue(product, "default", count=21, type="sync_crm", payload={"account": "4711"})
    for job_id in sync:
        wait_for_state(product, job_id, JobState.RUNNING)
    enqueue(product, "media", count=41, type="resize_video", payload={"video": "launch.mp4"})
    enqueue(product, "reports", count=28, type="weekly_report", payload={"week": 48})
    enqueue(product, "mail", count=9, type="send_email", payload={"to": "ada@example.org"}, delay_ms=3_600_000)
    pause(product, ["reports"])
    remember(product)
    return {"job-dead": orders[-1], "job-running": sync[0], "job-completed": mail}


def remember(product: Product) -> None:
    """Writes the counters of an hour that did not happen, and of the minutes in which the pictures are taken."""
    pick = random.Random(7)
    now = int(time.time() // 10)
    together: dict[int, Counter[str]] = {}
    with redis.Redis.from_url(product.redis_url) as raw:
        for queue, rate in HISTORY.items():
            for back in range(-60, 361):
                swing = 1 + 0.18 * math.sin(back / 17) + pick.uniform(-0.07, 0.07)
                failed = 40 * math.exp(-(((back - 24) / 4) ** 2)) if queue == "billing" else rate * 0.004
                done = rate * 10 * swing
                enqueued = done * pick.uniform(0.98, 1.05) + failed
                counts = {"completed": int(done), "enqueued": int(enqueued), "failed": int(failed * 10)}
                raw.hset(queue_key(queue, f"stats:10:{now - back}"), mapping=counts)
                together.setdefault(now - back, Counter()).update(counts)
        for bucket, counts in together.items():
            raw.hset(queue_key(SYSTEM, f"stats:10:{bucket}"), mapping=dict(counts))
        for queue, kinds in TYPES.items():
            for back in range(4):
                mapping = {
                    field: value for kind, figures in kinds.items() for field, value in shape(pick, kind, *figures)
                }
                raw.hset(queue_key(queue, f"stats:300:{now // 30 - back}"), mapping=mapping)


def shape(pick: random.Random, kind: str, jobs: int, failing: float, run: int, wait: int) -> Iterator[tuple[str, int]]:
    """The counters of one type in five minutes; `run` and `wait` are the classes most jobs fall into."""
    failed = int(jobs * failing)
    yield f"completed:{kind}", jobs - failed
    yield f"failed:{kind}", failed
    for name, middle in (("run", run), ("wait", wait)):
        for away, part in ((-2, 0.04), (-1, 0.2), (0, 0.52), (1, 0.19), (2, 0.05)):
            if 0 <= middle + away < 16:
                yield f"{name}:{middle + away}:{kind}", int(jobs * part * pick.uniform(0.9, 1.1))
