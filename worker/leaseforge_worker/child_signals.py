"""Signals for children that asyncio waits for."""

import asyncio
import contextlib
import os
import signal


def signal_child(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Sends the signal, if the process still runs.

    Not by `process.send_signal`: that looks whether the child has ended, and the status it takes is lost to asyncio,
    which then reports 255 for a child that ended at this moment (python/cpython#87744).
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
