"""Redis URLs: every form that can be connected to, and a clear word about every other."""

import pytest

from leaseforge.errors import BadInput
from leaseforge.store.address import Address, parse_address


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://", Address("single", (("localhost", 6379),))),
        ("redis://cache", Address("single", (("cache", 6379),))),
        ("redis://127.0.0.1:7000/3", Address("single", (("127.0.0.1", 7000),), db=3)),
        ("redis://cache?db=4", Address("single", (("cache", 6379),), db=4)),
        ("redis://[::1]:7000/0", Address("single", (("::1", 7000),))),
        ("redis://:word@cache", Address("single", (("cache", 6379),), password="word")),
        (
            "redis://us%40er:p%40ss%3A%2F%25@cache/1",
            Address("single", (("cache", 6379),), db=1, username="us@er", password="p@ss:/%"),
        ),
        (
            "rediss://cache:7000?ca_certs=/ca.pem&certfile=/c.pem&keyfile=/k.pem",
            Address(
                "single",
                (("cache", 7000),),
                tls=True,
                tls_options={"ssl_ca_certs": "/ca.pem", "ssl_certfile": "/c.pem", "ssl_keyfile": "/k.pem"},
            ),
        ),
        ("unix:///run/redis.sock", Address("single", path="/run/redis.sock")),
        ("unix://:word@/a%20b/redis.sock?db=2", Address("single", path="/a b/redis.sock", db=2, password="word")),
        (
            "sentinel://a:1,b/mymaster?db=5&sentinel_username=s&sentinel_password=t",
            Address(
                "sentinel",
                (("a", 1), ("b", 26379)),
                db=5,
                service="mymaster",
                sentinel_auth={"username": "s", "password": "t"},
            ),
        ),
        ("sentinels://a/m", Address("sentinel", (("a", 26379),), service="m", tls=True)),
        ("cluster://a:1,b:2", Address("cluster", (("a", 1), ("b", 2)))),
        ("clusters://user:word@a", Address("cluster", (("a", 6379),), username="user", password="word", tls=True)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_form_of_address_is_read(url: str, address: Address) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("", "must begin with one of redis://"),
        ("localhost:6379", "must begin with"),
        ("http://cache", "must begin with"),
        ("redis+sentinel://a/m", "must begin with"),
        ("redis://cache/db", "number as its database"),
        ("redis://cache/-1", "number as its database"),
        ("redis://cache/1000001", "number as its database"),
        ("redis://cache:port", "bad host or port"),
        ("redis://cache:70000", "bad host or port"),
        ("redis://[::1", "not a URL"),
        ("redis://cache?timeout=3", "unknown options: timeout"),
        ("unix://", "path of a socket"),
        ("sentinel://a:1", "name of the service"),
    ],
)
def test_every_other_one_is_refused_with_what_would_be_right(url: str, told: str) -> None:
    with pytest.raises(BadInput, match=told) as refused:
        parse_address(url)

    assert [problem.field for problem in refused.value.problems] == ["redis_url"]


@pytest.mark.parametrize(
    "url",
    [
        "redis://user:secret-word@cache/0",
        "redis://user:secret-word@cache:port",
        "redis://:secret-word@cache/db",
        "sentinel://:secret-word@a:x/m?sentinel_password=secret-word",
        "nope://:secret-word@cache",
        "redis://:secret-word@[::1",
        "unix://:secret-word@",
    ],
)
def test_no_text_of_ours_holds_the_password(url: str) -> None:
    try:
        address = parse_address(url)
        told = f"{address} {address!r}"
    except BadInput as refused:
        told = str(refused)

    assert "secret-word" not in told
