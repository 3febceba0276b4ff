"""What of a payload or result may be shown: values under secret-looking names are masked for everybody."""

import base64
import json
from dataclasses import dataclass
from typing import Any

import msgspec

from leaseforge.secret_names import MASK as MASK
from leaseforge.secret_names import is_secret as is_secret


@dataclass(frozen=True, slots=True)
class Shown:
    """A payload ready to be shown: JSON text, or base64 of bytes that are no JSON, or neither when there is nothing."""

    json: bytes | None = None
    base64: str | None = None
    is_masked: bool = False


def shown(content: bytes | None, content_type: str = "application/json", *, reveal: bool = False) -> Shown:
    """The content as it may be shown. JSON without secrets is passed on byte for byte.

    `reveal` masks nothing: for those who may see everything, and whose looking is audited.
    """
    if content is None:
        return Shown()
    if reveal:
        return _revealed(content, content_type)
    if is_json(content_type):
        try:
            value = msgspec.json.decode(content)
            content.decode()
            masked, changed, members = _masked(value)
            # Of a name that stands there twice only the last value was looked at: the others are left out.
            changed = changed or (not _reads_one_way(content, members) and _others_read_secrets(content))
            return Shown(json=msgspec.json.encode(masked) if changed else content, is_masked=changed)
        except RecursionError:
            # Too deep to look for secrets in it, so not shown at all.
            return Shown(is_masked=True)
        except (msgspec.DecodeError, UnicodeDecodeError):
            if _others_read_secrets(content):
                return Shown(is_masked=True)
    return Shown(base64=base64.b64encode(content).decode())


def _revealed(content: bytes, content_type: str) -> Shown:
    if is_json(content_type):
        try:
            content.decode()
            msgspec.json.decode(content)
            return Shown(json=content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    return Shown(base64=base64.b64encode(content).decode())


def is_json(content_type: str) -> bool:
    """Whether content declared like this is JSON, whatever parameters and prefixes its producer added."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _reads_one_way(content: bytes, members: int) -> bool:
    """Whether every reader finds the very names in it that ours found, so many.

    Plain ASCII, and no more colons than members: no name stands there twice.
    """
    return content.isascii() and b"\\" not in content and b"\0" not in content and content.count(b":") == members


def _others_read_secrets(content: bytes) -> bool:
    """Whether a more lenient reader finds secrets in it where ours finds none.

    That reader sees every value of a name that stands there twice, other encodings, numbers beyond all bounds, and
    halves of characters. What is too deep to look through counts as one.
    """
    found = False

    def look(pairs: list[tuple[str, Any]]) -> str:
        nonlocal found
        found = found or any(is_secret(name, value) for name, value in pairs)
        return "an object"

    try:
        json.loads(content, object_pairs_hook=look, parse_int=lambda _: 0, parse_float=lambda _: 0.0)
    except RecursionError:
        return True
    except ValueError:
        return False
    return found


def _masked(value: Any) -> tuple[Any, bool, int]:
    """The value with secrets masked, whether there were any, and how many members its objects have."""
    if isinstance(value, dict):
        changed, members = False, len(value)
        result: dict[str, Any] = {}
        for name, inner in value.items():
            result[name], inner_changed, inside = (MASK, True, 0) if is_secret(name, inner) else _masked(inner)
            changed, members = changed or inner_changed, members + inside
        return result, changed, members
    if isinstance(value, list):
        parts = [_masked(inner) for inner in value]
        return [part for part, _, _ in parts], any(one for _, one, _ in parts), sum(inside for _, _, inside in parts)
    return value, False, 0
