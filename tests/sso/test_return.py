"""Where a login may lead back to: a table of what is let through and what is not."""

import pytest

from leaseforge_auth.oidc.errors import SsoBadReturn
from leaseforge_auth.oidc.returning import Target, parse_return, with_code
from tests.sso.conftest import Serve

ORIGINS = ("https://app.example.com", "http://localhost:3000", "https://[2001:db8::1]:8443")
LOCAL = {
    "/": "/console",
    "/?tab=1": "/console?tab=1",
    "/console": "/console",
    "/console/": "/console/",
    "/console/queues/mail?state=dead&page=2": "/console/queues/mail?state=dead&page=2",
    "/console/find?q=//evil.example": "/console/find?q=//evil.example",
    "/console/jobs/%C3%A4": "/console/jobs/%C3%A4",
    "/jobs/console/workers": "/console/workers",
    "/jobs": "/console",
}
ELSEWHERE = [
    "https://app.example.com",
    "https://app.example.com/after?tab=1",
    "https://APP.example.com/after",
    "http://localhost:3000/",
    "https://[2001:db8::1]:8443/after",
]
REFUSED = [
    "",
    "console",
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/console//evil.example",
    "/console/../../evil",
    "/console/%2e%2e/evil",
    "/console/%2E%2E%2Fevil",
    "/console%2f%2fevil.example",
    "/console/%5cevil.example",
    "/console/%0d%0aSet-Cookie:a=b",
    "/console\r\nSet-Cookie: a=b",
    "/console\tx",
    "/console x",
    "/console\x00",
    "/console/\u2028",
    "/consolé",
    "/consoles",
    "/api/jobs",
    "/jobsx/console",
    "javascript:alert(1)",
    "data:text/html,x",
    "https:evil.example",
    "https:/evil.example",
    "https:///evil.example",
    "https://evil.example",
    "https://app.example.com.evil.example/",
    "https://app.example.com@evil.example/",
    "https://evil.example#https://app.example.com",
    "https://app.example.com:444/",
    "https://app.example.com:443/",
    "http://app.example.com/",
    "HTTPS://app.example.com/",
    "https://app.example.com\\@evil.example/",
    "https://app.example.com/#fragment",
    "https://app.example.com/?code=mine",
    "https://localhost:3000/",
    "https://app.example.com/" + "x" * 2000,
    "/console/" + "x" * 2000,
]


@pytest.mark.parametrize("text", LOCAL)
def test_pages_of_the_console_may_be_returned_to(text: str) -> None:
    target = parse_return(text, allowed_origins=ORIGINS, root_path="/jobs")

    assert target == Target(LOCAL[text], is_local=True)


@pytest.mark.parametrize("text", ELSEWHERE)
def test_addresses_of_allowed_origins_may_be_returned_to_with_a_code(text: str) -> None:
    target = parse_return(text, allowed_origins=ORIGINS)

    assert target == Target(text, is_local=False)
    assert with_code(target, "c") in (f"{text}?code=c", f"{text}&code=c")


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_nothing_else_may_be_returned_to(text: str) -> None:
    with pytest.raises(SsoBadReturn):
        parse_return(text, allowed_origins=ORIGINS, root_path="/jobs")


def test_without_a_wish_the_login_leads_to_the_console() -> None:
    assert parse_return(None, allowed_origins=()) == Target("/console", is_local=True)


async def test_the_login_address_refuses_before_anybody_goes_anywhere(serve: Serve) -> None:
    site = await serve("http://127.0.0.1:9", CLIENT_ID="leaseforge")
    browser = await site.browser()

    for text in REFUSED:
        answer = await browser.client.get("/api/auth/oidc/login", params={"return_to": text})

        assert answer.status_code == 400, text
        assert answer.json()["type"] == "urn:leaseforge:problem:sso-bad-return"
        assert "location" not in answer.headers
        assert not answer.cookies
