"""Groups failures that are alike, so that an operator sees 3 causes and not 3,000 dead jobs."""

import re
from hashlib import sha256

from leaseforge.texts import cut

_VARYING = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    r"|0x[0-9a-fA-F]+"
    r"|\b(?=[0-9a-fA-F]*[0-9])[0-9a-fA-F]{8,}\b"
    r"|\d+(?:[.,:]\d+)*"
    r"|'[^']{0,200}'"
    r'|"[^"]{0,200}"'
)
MESSAGE_BYTES = 200


def normalise(message: str) -> str:
    """A message with what differs from case to case (numbers, ids, quoted values) replaced by `…`; one line."""
    head = message[:1000].strip().partition("\n")[0]
    return cut(_VARYING.sub("…", head), MESSAGE_BYTES)


def fingerprint(job_type: str, kind: str, message: str) -> tuple[str, str]:
    """The group's key (16 hex digits), and its title: job type, kind of error and message on three lines."""
    title = "\n".join(part.replace("\n", " ") for part in (job_type, kind, normalise(message)))
    return sha256(title.encode("utf-8", "replace")).hexdigest()[:16], title
