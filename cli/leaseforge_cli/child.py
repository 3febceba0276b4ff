"""Runs a `leaseforge` command as a child of `leaseforge dev`: `python -m leaseforge_cli.child worker ...`.

The child's standard input is a pipe that only the parent holds open. When the parent is gone, however it went, the pipe
ends and the child stops as if it had been told to: a killed `leaseforge dev` leaves no worker and no open port behind.
"""

import os
import signal
import sys
import threading

from leaseforge_cli.main import main


def _stop_when_the_parent_is_gone() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_stop_when_the_parent_is_gone, name="parent-watch", daemon=True).start()
    main(sys.argv[1:])
