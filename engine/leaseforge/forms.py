"""What payloads look like, for whoever writes one by hand: published by workers, one JSON Schema a type.

It is a help and no contract: only the worker that runs a job decides what its payload may be. A type without a form
is one whose task does not say, whose form is too large, or that no worker has begun to serve since.
"""

from collections.abc import Mapping

from leaseforge import limits
from leaseforge.calls import Call
from leaseforge.keys import FORMS, FORMS_PUBLISHED, system_key
from leaseforge.scripts import ENGINE


def publish(forms: Mapping[str, bytes]) -> Call[int]:
    """Sets the forms of some types, b"" for one that has none any more; how many types have one now.

    Too large ones count as none.
    """
    flat: list[str | bytes] = []
    for job_type, form in forms.items():
        flat += [job_type, form if len(form) <= limits.MAX_FORM_BYTES else b""]
    keys = (("forms", system_key(FORMS)), ("published", system_key(FORMS_PUBLISHED)))
    return Call(ENGINE.load("publish_forms"), keys, (("most", limits.MAX_FORMS),), int, tuple(flat))


def form_of(job_type: str) -> Call[bytes | None]:
    """The JSON Schema of a type's payloads as it was published, or None."""
    return Call(
        ENGINE.load("read_form"),
        (("forms", system_key(FORMS)),),
        (("type", job_type),),
        lambda raw: bytes(raw) or None,
    )
