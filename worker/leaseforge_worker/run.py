"""A worker process: signals, exit status, and an end that nothing a handler does can hold up."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import structlog

from leaseforge import events, logs, tracing
from leaseforge.registry import Registry
from leaseforge_worker.channel import ParentChannel
from leaseforge_worker.loops import OwnLoop
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.stop_signals import StopSignals
from leaseforge_worker.worker import Worker, new_run_id

log = structlog.get_logger()

SIGNALS = (signal.SIGTERM, signal.SIGINT)
_TIDY_S = 1.0


def run_worker(settings: WorkerSettings, tasks: Registry, *, parent: ParentChannel | None = None) -> int:
    """Runs one worker until it is told to stop; the exit status of the process.

    The first SIGTERM or SIGINT drains; a second one ends the process at once with 128 + its number (but for an echo,
    see StopSignals). Under a `parent` haste is the parent's business: a terminal or a service manager signals all
    processes, and the parent passes it on. A handler that cannot be stopped does not hold up the end: if one is left,
    the process ends here and this does not return. Raises AddressInUse, StoreUnsuitable, StoreUnavailable.
    """
    logs.configure(settings.log_level, format=settings.log_format)
    run_id = new_run_id()
    recording = tracing.start(settings.tracing, "leaseforge-worker", instance=run_id)
    own = OwnLoop()
    try:
        asyncio.set_event_loop(own.loop)
        began = parent.began if parent else lambda: None
        worker = Worker(settings, tasks, run_id=run_id, began=began, recording=recording)
        with _stopping_signals(worker.ask_to_stop, lambda: parent is not None and not parent.gone):
            if parent is not None:
                parent.serve(worker)
            status = own.loop.run_until_complete(worker.run())
    finally:
        if recording is not None:
            recording.end()
        clean = own.close() and _threads_ended()
        asyncio.set_event_loop(None)
    if not clean:
        log.warning(events.WORKER_CUT_OFF, worker=worker.run_id)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


@contextmanager
def _stopping_signals(stop: Callable[[], None], is_led: Callable[[], bool]) -> Iterator[None]:
    """Python's own signal handlers, because those of the event loop wait while a handler blocks it."""
    signals = StopSignals()

    def handle(number: int, _frame: FrameType | None) -> None:
        if not is_led() and signals.ask_for_haste(number):
            os._exit(128 + number)
        stop()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _threads_ended() -> bool:
    """False if threads of handlers still run and would hold up Python's own exit."""
    deadline = time.monotonic() + _TIDY_S
    for thread in threading.enumerate():
        if thread.daemon or thread is threading.current_thread() or thread is threading.main_thread():
            continue
        thread.join(max(0.0, deadline - time.monotonic()))
        if thread.is_alive():
            return False
    return True
