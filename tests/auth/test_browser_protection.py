"""The session cookie's name and attributes, and the checks against other sites."""

import pytest

from leaseforge_auth import csrf
from leaseforge_auth.addresses import is_loopback
from leaseforge_auth.cookies import session_cookie
from leaseforge_auth.errors import CrossSiteRequest


def header(*, is_secure: bool, root_path: str = "") -> str:
    cookie = session_cookie(is_secure=is_secure, root_path=root_path, max_age_s=60)
    return cookie.holding("opaque").to_header(header="")


def test_on_https_the_cookie_cannot_be_planted_or_read_by_others() -> None:
    sent = header(is_secure=True)

    assert sent.startswith("__Host-leaseforge=opaque")
    assert {"HttpOnly", "Path=/", "SameSite=lax", "Secure"} <= set(sent.split("; "))
    assert "Domain" not in sent


def test_on_plain_http_the_cookie_is_for_this_machine_only() -> None:
    cookie = session_cookie(is_secure=False, root_path="", max_age_s=60)

    assert cookie.name == "leaseforge"
    assert "Secure" not in header(is_secure=False)
    assert cookie.may_travel_to("127.0.0.1:8080")
    assert not cookie.may_travel_to("192.168.1.5:8080")
    assert not cookie.may_travel_to(None)


def test_under_a_path_prefix_the_name_is_its_own() -> None:
    names = {
        session_cookie(is_secure=False, root_path=path, max_age_s=60).name for path in ("", "/jobs", "/jobs-staging")
    }

    assert len(names) == 3


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("localhost:8080", True),
        ("jobs.localhost:8080", True),
        ("127.0.0.1", True),
        ("127.8.8.8:80", True),
        ("[::1]:8080", True),
        ("[::1]", True),
        ("localhost.example.com", False),
        ("127.0.0.1.example.com", False),
        ("example.com:8080", False),
        ("[2001:db8::1]:8080", False),
        ("10.0.0.1", False),
        ("", False),
    ],
)
def test_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def allowed(fetch_site: str | None, origin: str | None, *, web_url: str = "") -> bool:
    try:
        csrf.check_origin(fetch_site=fetch_site, origin=origin, host="localhost:8080", web_url=web_url)
    except CrossSiteRequest:
        return False
    return True


@pytest.mark.parametrize(
    ("fetch_site", "origin", "expected"),
    [
        ("same-origin", None, True),
        ("same-origin", "http://localhost:8080", True),
        ("same-site", "http://localhost:8080", False),
        ("cross-site", "http://localhost:8080", False),
        ("none", None, False),
        (None, "http://localhost:8080", True),
        (None, "http://localhost:9090", False),
        (None, "http://evil.example", False),
        (None, "null", False),
        (None, "", False),
        (None, None, False),
    ],
)
def test_only_our_own_pages_may_change_something(fetch_site: str | None, origin: str | None, expected: bool) -> None:
    assert allowed(fetch_site, origin) is expected


def test_the_public_address_decides_behind_a_proxy() -> None:
    web_url = "https://jobs.example.com/jobs"

    assert allowed(None, "https://jobs.example.com", web_url=web_url)
    assert not allowed(None, "http://localhost:8080", web_url=web_url)


def test_a_form_token_fits_its_own_session_only() -> None:
    token = csrf.token_for("session one")

    csrf.check_token(token, csrf.token_for("session one"))
    for sent in (None, "", "é", token[:-1], csrf.token_for("session two")):
        with pytest.raises(CrossSiteRequest):
            csrf.check_token(sent, token)
