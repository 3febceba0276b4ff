"""What pages have to live with: jobs whose names no producer may give any more, and keys of other programs."""

from dataclasses import replace
from typing import Any

from leaseforge.calls import Plan
from leaseforge.enqueueing import store_jobs
from leaseforge.requests import new_job

_NAMES = ("type", "tags", "unique_key", "created_by")


def planted(payload: Any = None, **fields: Any) -> Plan[str]:
    """Stores a job without a look at its names; its id."""
    names = {name: fields.pop(name) for name in _NAMES if name in fields}
    job = replace(new_job("work", payload, **fields), **names)
    yield from store_jobs(job.queue, [job])
    return job.id


def plant_foreign(raw: Any, key: str) -> None:
    """Puts something of another type there."""
    is_text = raw.type(key) in (b"string", b"none")
    raw.delete(key)
    if is_text:
        raw.rpush(key, "foreign")
    else:
        raw.set(key, "foreign")
