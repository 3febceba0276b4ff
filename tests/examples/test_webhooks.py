"""The webhook example: what is delivered, what is tried again, what is refused for good."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from examples.webhooks import Delivered, NotDelivered, Webhook, check_address, deliver_webhook
from leaseforge import Context, JobState, PermanentFailure, new_job
from leaseforge.store import Store
from tests.support.waiting import free_port
from tests.worker.builders import Clock, claimed, held
from tests.worker.workers import a_worker, ended, enqueue


class Receiver:
    """Takes webhooks and refuses calls of a worker that has lost the job, as the example's text tells receivers to."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.taken: list[dict[str, Any]] = []
        self._fences: dict[str, int] = {}
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                status = receiver.take(
                    self.headers["Webhook-Id"],
                    int(self.headers["Webhook-Fence"]),
                    json.loads(self.rfile.read(int(self.headers["Content-Length"]))),
                )
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}/in"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def take(self, job_id: str, fence: int, body: dict[str, Any]) -> int:
        status = self.answers.pop(0) if self.answers else 200
        if status == 200 and fence < self._fences.get(job_id, 0):
            return 410
        if status == 200:
            self._fences[job_id] = fence
            self.taken.append(body)
        return status


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    made = Receiver()
    monkeypatch.setenv("WEBHOOK_HOSTS", f"hooks.example.com, {made.host}")
    yield made
    made.server.shutdown()
    made.server.server_close()


def context(**facts: Any) -> Context:
    job = held(Clock(), claimed("deliver_webhook", **facts))
    return Context(job.claimed, job)


def test_an_event_is_posted_and_the_answer_is_the_result(receiver: Receiver) -> None:
    result = deliver_webhook(context(attempt=2), Webhook(receiver.url, "paid", {"order": 7}))

    assert result == Delivered(200, 2)
    assert receiver.taken == [{"event": "paid", "data": {"order": 7}}]


@pytest.mark.parametrize("status", [500, 503, 408, 429])
def test_a_receiver_in_trouble_is_tried_again(receiver: Receiver, status: int) -> None:
    receiver.answers = [status]

    with pytest.raises(NotDelivered, match=str(status)):
        deliver_webhook(context(), Webhook(receiver.url, "paid"))


def test_a_receiver_that_is_away_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    host = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("WEBHOOK_HOSTS", host)

    with pytest.raises(NotDelivered, match="cannot be reached"):
        deliver_webhook(context(), Webhook(f"http://{host}/", "paid"))


@pytest.mark.parametrize("status", [400, 404, 302])
def test_a_refusal_is_final_and_no_redirect_is_followed(receiver: Receiver, status: int) -> None:
    receiver.answers = [status]

    with pytest.raises(PermanentFailure, match=str(status)):
        deliver_webhook(context(), Webhook(receiver.url, "paid"))


def test_a_late_call_of_a_worker_that_lost_the_job_is_refused_by_its_fence(receiver: Receiver) -> None:
    webhook = Webhook(receiver.url, "paid")
    deliver_webhook(context(id="one", fence=20), webhook)

    with pytest.raises(PermanentFailure, match="410"):
        deliver_webhook(context(id="one", fence=10), webhook)

    assert len(receiver.taken) == 1


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://hooks.example.com/",
        "http://127.0.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "https://hooks.example.com@evil.example/",
        "https://hooks.example.com.evil.example/",
        "https://[bad/",
        "",
    ],
)
def test_addresses_the_operator_did_not_list_are_never_called(url: str) -> None:
    with pytest.raises(PermanentFailure):
        check_address(url, allowed=["hooks.example.com", ""])


async def test_it_runs_in_a_worker(receiver: Receiver, store: Store, redis_url: str) -> None:
    async with a_worker(redis_url, deliver_webhook, queues="webhooks"):
        payload = {"url": receiver.url, "event": "paid", "data": {"order": 7}}
        [good] = await enqueue(store, new_job("deliver_webhook", payload, queue="webhooks"))
        [bad] = await enqueue(store, new_job("deliver_webhook", {"url": receiver.url}, queue="webhooks"))
        done, refused = await ended(store, good), await ended(store, bad)

    assert (done.state, done.result) == (JobState.COMPLETED, b'{"status":200,"attempt":1}')
    assert (refused.state, refused.reason) == (JobState.DEAD, "bad_payload")
