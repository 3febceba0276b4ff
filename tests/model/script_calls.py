"""Any of the engine's scripts as a call of its own, its keys taken from its header."""

from typing import Any

from leaseforge.calls import Arg, Call, queue_keys
from leaseforge.scripts import ENGINE


def script_call(name: str, queue: str, *args: Arg) -> Call[Any]:
    """The script `name` on `queue`; answers what the script answers."""
    script = ENGINE.load(name)
    names = script.header.keys
    assert names[0] == "guard", f"{name} is not a script of a queue"
    return Call(
        script, queue_keys(queue, *names[1:]), tuple(zip(script.header.args, args, strict=True)), lambda raw: raw
    )
