"""How attempts in child processes end."""

import signal
from dataclasses import dataclass

from leaseforge.isolation import Isolation
from leaseforge_worker.child_process import ChildProcess
from leaseforge_worker.frames import Raised, Returned
from leaseforge_worker.outcomes import Failure

NOT_STARTED = "child_not_started"


@dataclass(frozen=True, slots=True)
class Crashed:
    """The child died while it ran the attempt."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class NotStarted:
    """No child could take the attempt up: no fault of its job, but nothing that trying at once would mend."""

    failure: Failure


End = Returned | Raised | Crashed | NotStarted


def what_killed(process: ChildProcess | None, isolation: Isolation) -> Failure:
    """A kind that names the signal or exit status, and a message for people."""
    code = process.returncode if process is not None else None
    why = process.killed_for if process is not None else ""
    if code is None or (why and code == -signal.SIGKILL):
        return Failure("connection_lost", f"the child process was killed: {why}")
    if code >= 0:
        return Failure(f"exit_status_{code}", f"the child process ended with exit status {code}")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal_{-code}"
    hint = ""
    if name == "SIGXCPU" and isolation.cpu_s is not None:
        hint = f": its handler used more than {isolation.cpu_s} s of processor time"
    elif name == "SIGKILL":
        hint = ", by the system when memory ran out, or by somebody"
    return Failure(name, f"the child process was killed by {name}{hint}")
