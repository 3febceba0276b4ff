"""A worker process's line to the parent that started it: the parent asks how it is, and its end means the parent's."""

import contextlib
import json
import os
import socket
import threading
from typing import Any, Protocol

import structlog

from leaseforge import events
from leaseforge.workers import WorkerState
from leaseforge_worker.health import Health

log = structlog.get_logger()


class Watched(Protocol):
    """What a parent may know of a worker, and the one thing the line may ask of it."""

    @property
    def state(self) -> WorkerState:
        """What the worker does with new work now."""
        ...

    def health(self) -> Health:
        """What a probe may know."""
        ...

    def metrics(self) -> bytes:
        """The page for a scrape."""
        ...

    def ask_to_stop(self) -> None:
        """Asks for a drain."""
        ...


class ParentChannel:
    """The child's end of a socket pair. One JSON object a line, in both directions.

    The parent sends `{"number", "metrics": bool}` and gets `{"number", "state", "redis_ok", "accepts_work", "metrics"}`
    back; `{"began": true}` is sent once, when the worker takes up work. Everything is answered from a thread, so that
    a busy event loop does not look dead. When the parent is gone, however it went, the worker drains and leaves; one
    that holds no jobs yet, because it still loads its tasks, ends at once.
    """

    def __init__(self, descriptor: int) -> None:
        """Takes over an inherited descriptor. Raises OSError if it is not a socket."""
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)  # what handlers start must not hold the line open
        self._lock = threading.Lock()
        self._worker: Watched | None = None
        self.gone = False
        """Whether the parent has ended."""
        threading.Thread(target=self._listen, name="parent", daemon=True).start()

    def serve(self, worker: Watched) -> None:
        """Answers for this worker from now on, and drains it when the parent is gone."""
        with self._lock:
            self._worker = worker
        if self.gone:
            worker.ask_to_stop()

    def began(self) -> None:
        """Tells that the worker takes up work."""
        self._send({"began": True})

    def _listen(self) -> None:
        try:
            self._serve_questions()
        except (OSError, ValueError):
            pass  # the parent ended, perhaps in the middle of a word
        except Exception:
            log.exception(events.LOOP_CRASHED, loop="parent")  # a defect; without the line we cannot stay
        self._socket.close()
        with self._lock:
            self.gone = True
            worker = self._worker
        if worker is None:
            os._exit(0)
        worker.ask_to_stop()

    def _serve_questions(self) -> None:
        with self._socket.makefile("rb") as lines:
            for line in lines:
                self._send(self._answer(json.loads(line)))

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        worker = self._worker
        if worker is None:
            return {"number": question["number"], "state": "starting", "redis_ok": False, "accepts_work": False}
        health = worker.health()
        return {
            "number": question["number"],
            "state": str(worker.state),
            "redis_ok": health.redis_ok,
            "accepts_work": health.accepts_work,
            "metrics": worker.metrics().decode() if question["metrics"] else "",
        }

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # the parent is gone: the end of the line says so too
            self._socket.sendall(json.dumps(message).encode() + b"\n")
