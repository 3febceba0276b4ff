import pytest

from leaseforge_console.paths import local_path, login_path, of_url

GOOD = [
    "/console",
    "/console/",
    "/console?seconds=3600",
    "/console/queues/mail?state=dead&offset=50",
    "/console/jobs/8f3b0c52-6d0e-4b7b-9d0c-2f6d1b7f3c11",
    "/console/find?q=https%3A%2F%2Fa.example",
]
EVIL = [
    None,
    "",
    "/",
    "/other",
    "/consolevil",
    "console",
    "//evil.example/console",
    "///evil.example",
    "/\\evil.example",
    "/console\\..\\evil",
    "/console//evil.example",
    "https://evil.example/console",
    "HTTPS:/console",
    "javascript:alert(1)",
    "data:text/html,x",
    "/console\r\nSet-Cookie: a=b",
    "/console\n",
    "/console/\t/evil.example",
    "/console/\x00",
    " /console",
    "/console ",
    "/console/ü",
    '/console/"onmouseover=',
    "/console#fragment",
    "/console/" + "a" * 3000,
    "\u2028/console",
    "/console@evil.example",
    "/console:80",
    ".//console",
    "/./console",
    "/%2e%2e/console",
    "http:console",
    "//console",
    "/\t/evil.example/console",
]


@pytest.mark.parametrize("path", GOOD)
def test_pages_of_the_console_are_local(path: str) -> None:
    assert local_path(path) == path


@pytest.mark.parametrize("path", EVIL)
def test_anything_else_is_not(path: str | None) -> None:
    assert local_path(path) is None


def test_a_reported_address_loses_host_and_prefix() -> None:
    assert of_url("https://jobs.example/ops/console/queues?x=1", "/ops") == "/console/queues?x=1"
    assert of_url("https://jobs.example/elsewhere", "") is None
    assert of_url(None, "") is None


def test_the_login_leads_back() -> None:
    assert login_path("/console/queues?a=b&c=d") == "/console/login?next=/console/queues%3Fa%3Db%26c%3Dd"
    assert login_path("/console") == "/console/login"
    assert login_path(None) == "/console/login"
