"""A worker that runs beside a program: in a thread with an event loop of its own."""

import threading
from abc import ABC, abstractmethod
from typing import Self

from leaseforge_worker.loops import OwnLoop

_LOOK_S = 0.005


class Startable(ABC):
    """What runs once: as a coroutine of its caller's loop, or beside its caller between `start` and `stop`."""

    def __init__(self) -> None:
        self._used = False
        self._thread: threading.Thread | None = None
        self._answer = 0
        self._error: BaseException | None = None

    @property
    @abstractmethod
    def is_claiming(self) -> bool:
        """Whether it has asked for jobs and Redis has answered; where it serves every queue there may be none yet."""

    @abstractmethod
    def ask_to_stop(self) -> None:
        """Asks for a drain. Callable from any thread and from a signal handler; asking again changes nothing."""

    @abstractmethod
    async def _run(self) -> int:
        """Works until it is asked to stop; the exit status."""

    def start(self) -> Self:
        """Runs in a thread of its own; returns once it claims jobs. Raises what `run` raises if it cannot begin.

        Redis going away after that first contact delays it for as long; `ask_to_stop` ends the wait.
        From any thread, but not where it would hold up an event loop: there `run` is the way. The thread does not
        keep the program alive: one that ends without `stop` leaves its jobs to be recovered when their leases end.
        """
        self._use()
        self._thread = threading.Thread(target=self._live, name="worker", daemon=True)
        self._thread.start()
        try:
            while not self.is_claiming and self._thread.is_alive():
                self._thread.join(_LOOK_S)
        except BaseException:
            self.ask_to_stop()
            raise
        if self._error is not None:
            raise self._error
        return self

    def stop(self) -> int:
        """Drains what `start` began and waits for its end; the exit status. Raises what ended it, if it was an error.

        From any thread but the worker's own: an `async def` handler can only `ask_to_stop`. Again it answers the same;
        without `start` there is nothing to wait for.
        """
        self.ask_to_stop()
        if self._thread is None:
            return self._answer
        if threading.current_thread() is self._thread:
            raise RuntimeError("the worker's own thread cannot wait for its end: use ask_to_stop()")
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._answer

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _use(self) -> None:
        if self._used:
            raise RuntimeError("a worker runs once: make another one")
        self._used = True

    def _live(self) -> None:
        own = OwnLoop()
        try:
            self._answer = own.loop.run_until_complete(self._run())
        except BaseException as error:  # raised to whoever waits, in their thread
            self._error = error
        finally:
            own.close()
