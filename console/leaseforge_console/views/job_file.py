"""Payloads and results as files: whole, of a type no browser runs, masked unless they were revealed."""

from dataclasses import dataclass

import msgspec

from leaseforge_auth import masking
from leaseforge_auth.masking import is_json
from leaseforge_console.json_text import without_secrets
from leaseforge_console.payloads import masked_words

_JSON = ("json", "application/json")
_TEXT = ("txt", "text/plain; charset=utf-8")
_BYTES = ("bin", "application/octet-stream")


@dataclass(frozen=True, slots=True)
class JobFile:
    """What is sent. The type is one of three of ours, whatever the producer called it."""

    content: bytes
    media_type: str
    name: str


def as_file(content: bytes, content_type: str, *, job_id: str, what: str, reveal: bool = False) -> JobFile:
    """The file of a job's payload or result (`what`). JSON without secrets is passed on byte for byte."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return _file(content, _BYTES, job_id, what)
    if "\x00" in text:
        return _file(content, _BYTES, job_id, what)
    kind = _JSON if is_json(content_type) and _is_well_formed(content) else _TEXT
    if reveal:
        return _file(content, kind, job_id, what)
    masked = without_secrets(text, lambda *_: f'"{masking.MASK}"') if kind is _JSON else masked_words(text)[0]
    return _file(masked.encode(), kind, job_id, what)


def _is_well_formed(content: bytes) -> bool:
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _file(content: bytes, kind: tuple[str, str], job_id: str, what: str) -> JobFile:
    ending, media_type = kind
    return JobFile(content, media_type, f"job-{job_id}-{what}.{ending}")
