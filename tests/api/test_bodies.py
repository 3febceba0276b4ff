"""Reading JSON strictly: whatever comes in, the answer is a value or a list of problems."""

import contextlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseforge.errors import BadInput
from leaseforge.json_depth import MAX_DEPTH, check_depth
from leaseforge_api.bodies import read_json
from leaseforge_api.schemas.jobs import BulkRequest, JobRequest, job_from

MODELS = st.sampled_from([JobRequest, BulkRequest])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from([field.name for field in msgspec.structs.fields(JobRequest)] + ["colour", "jobs"])
ALMOST_JOBS = st.dictionaries(FIELDS, VALUES, max_size=6)


def read_or_refuse(body: bytes, model: type[Any]) -> Any:
    """The value, or None after a refusal that says something."""
    refusal: BadInput | None = None
    try:
        return read_json(body, model)
    except BadInput as refused:
        refusal = refused
    assert refusal.problems
    assert all(problem.message for problem in refusal.problems)
    return None


@given(st.binary(max_size=64), MODELS)
def test_any_bytes_are_read_or_refused(body: bytes, model: type[Any]) -> None:
    read_or_refuse(body, model)


@given(ALMOST_JOBS, MODELS, st.integers(0, 200))
def test_almost_right_jobs_whole_or_torn_are_read_or_refused(asked: dict[str, Any], model: type[Any], cut: int) -> None:
    body = json.dumps({"jobs": [asked]} if model is BulkRequest else asked).encode()

    read_or_refuse(body, model)
    read_or_refuse(body[:cut], model)


@given(ALMOST_JOBS)
def test_what_is_read_becomes_a_job_or_is_refused_too(asked: dict[str, Any]) -> None:
    request = read_or_refuse(json.dumps(asked).encode(), JobRequest)
    if request is None:
        return

    with contextlib.suppress(BadInput):
        job = job_from(request, created_by="ada")
        assert job.payload == json.dumps(asked.get("payload", {})).encode()


@given(VALUES)
def test_a_payload_is_the_very_bytes_that_were_sent(payload: Any) -> None:
    sent = json.dumps(payload, ensure_ascii=False, indent=1).encode("utf-8", "replace")

    request = read_json(b'{ "payload" :' + sent + b', "type":"echo" }', JobRequest)

    assert isinstance(request.payload, msgspec.Raw)
    assert bytes(request.payload).strip() == sent.strip()


@pytest.mark.parametrize(
    ("raw", "is_fine"),
    [
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, True),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), False),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), False),
        ("[" + ",".join(["[{}]"] * 10_000) + "]", True),
        ('["' + "[" * 1_000 + '"]', True),
        ('["\\"' + "[" * 1_000 + '"]', True),
        ('["\\\\",' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "]", False),
    ],
)
def test_depth_counts_brackets_outside_of_text(raw: str, is_fine: bool) -> None:
    if is_fine:
        check_depth(raw.encode(), "payload")
        return
    with pytest.raises(BadInput, match="64 levels"):
        check_depth(raw.encode(), "payload")
