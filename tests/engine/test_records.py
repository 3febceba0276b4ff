"""Records are read out of Redis whatever is in them: a damaged job still has to be shown."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaseforge.jobs import JobError, JobState
from leaseforge.records import instant, job_from, pairs, tags, whole

NAMES = ["state", "priority", "attempts", "releases", "options", "created_at", "due_at", "finished_at"]
NAMES += ["error", "error_kind", "tags", "token", "rev"]
SCORES = [b"1", b"1.5e300", b"inf", b"-inf"]
values = st.one_of(
    st.binary(max_size=20),
    st.sampled_from([b"nan", b"inf", b"-inf", b"1e999", b"9" * 70, b"-1", b"running", b"[[1]]", b'{"m":{}}', b"7.w"]),
)
entries = st.one_of(
    st.binary(max_size=40),
    st.dictionaries(
        st.sampled_from(list("nowfsekmt")),
        st.one_of(
            st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(), st.text("aé", max_size=5), st.just([])
        ),
    ).map(msgspec.msgpack.encode),
)


@settings(max_examples=200, deadline=None)
@given(
    fields=st.dictionaries(st.sampled_from(NAMES), values),
    history=st.lists(entries, max_size=3),
    score=st.sampled_from([None, *SCORES]),
)
@example(fields={}, history=[b"\x91" * 100_000], score=None)
@example(fields={"state": b"running", "token": b"1.w"}, history=[], score=b"inf")
def test_a_job_is_made_of_whatever_is_there(
    fields: dict[str, bytes], history: list[bytes], score: bytes | None
) -> None:
    flat = [word for name, value in fields.items() for word in (name.encode(), value)]

    job = job_from("line", "id", pairs(flat), history=history, score=score)

    assert job.id == "id"
    assert len(job.history) == len(history)
    assert job.created_at is None or job.created_at.tzinfo is UTC


def test_an_empty_record_is_a_dead_job_of_unknown_type() -> None:
    job = job_from("line", "id", {})

    assert (job.state, job.type, job.attempts, job.tags, job.lease) == (JobState.DEAD, "unknown", 0, (), None)


def test_the_last_error_is_told_in_full_where_the_history_has_it() -> None:
    fields = {"error_kind": "Broken", "error": "short…"}
    ended = [
        msgspec.msgpack.encode({"n": 1, "o": "failed", "k": "Broken", "m": "the first one"}),
        msgspec.msgpack.encode({"n": 2, "o": "failed", "k": "Broken", "m": "short but told in full"}),
        msgspec.msgpack.encode({"n": 3, "o": "lost", "k": "lease_lost", "m": "gone"}),
    ]

    assert job_from("line", "id", fields, history=ended).error == JobError("Broken", "short but told in full")
    assert job_from("line", "id", fields).error == JobError("Broken", "short…")


@pytest.mark.parametrize(
    ("ms", "at"),
    [
        ("1000", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
        (1500.0, datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)),
        ("-1000", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (None, None),
        ("", None),
        ("x", None),
        ("nan", None),
        ("inf", None),
        ("1e30", None),
        ({}, None),
    ],
)
def test_times_are_aware_or_none(ms: Any, at: datetime | None) -> None:
    assert instant(ms) == at


def test_numbers_and_tags_are_none_rather_than_wrong() -> None:
    assert [whole(text) for text in ("7", b"-7", "", None, "x", "1.5", "nan", b"\xff", str(2**53))] == [7, -7] + [0] * 7
    assert tags(b'["a","b"]') == ("a", "b")
    assert [tags(text) for text in (None, "", "x", "[1]", '{"a":1}', b"\xff")] == [()] * 6
