"""W3C trace context as text: what of a request's headers a job carries."""

from typing import Any

import pytest

from leaseforge.errors import BadInput
from leaseforge.requests import new_job
from leaseforge.trace_context import TraceContext, is_tracestate, read_headers

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    ("sent", "flags"),
    [
        (f"00-{TRACE}-{SPAN}-01", "01"),
        (f"00-{TRACE}-{SPAN}-00", "00"),
        (f"00-{TRACE}-{SPAN}-03", "01"),
        (f" 00-{TRACE}-{SPAN}-01\t", "01"),
        (f"cc-{TRACE}-{SPAN}-01", "01"),
        (f"cc-{TRACE}-{SPAN}-01-what-will-be", "01"),
    ],
)
def test_a_well_formed_traceparent_is_kept_as_version_00(sent: str, flags: str) -> None:
    found = read_headers(sent, None)

    assert found == TraceContext(f"00-{TRACE}-{SPAN}-{flags}")
    assert found.trace_id == TRACE


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "",
        "broken",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01\n",
        "é" * 55,
    ],
)
def test_a_malformed_one_is_none(sent: str | None) -> None:
    assert read_headers(sent, "vendor=1") is None


@pytest.mark.parametrize(
    ("sent", "is_kept"),
    [
        ("vendor=1", True),
        ("a=1, b@c=2,,d=3", True),
        ("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7", True),
        ("a=" + "x" * 250 + ",b=" + "y" * 250, True),
        ("a=" + "x" * 250 + ",b=" + "y" * 250 + ",c=1234567", False),
        ("", False),
        (",", False),
        ("a", False),
        ("A=1", False),
        ("a=1,a=2", False),
        ("a=1=2", False),
        ("a=\x00", False),
        (",".join(f"k{n}=v" for n in range(33)), False),
    ],
)
def test_a_tracestate_is_kept_if_it_is_well_formed_and_short(sent: str, is_kept: bool) -> None:
    assert is_tracestate(sent) is is_kept
    found = read_headers(f"00-{TRACE}-{SPAN}-01", sent)
    assert found is not None
    assert found.tracestate == (sent if is_kept else "")


@pytest.mark.parametrize("fields", [{"traceparent": f"00-{'0' * 32}-{SPAN}-01"}, {"tracestate": "A=1"}])
def test_a_program_is_told_of_what_is_malformed(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="W3C"):
        new_job("echo", **fields)
