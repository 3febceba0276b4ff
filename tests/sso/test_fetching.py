"""Requests to the provider: which addresses are asked, and what ends a request."""

import asyncio
from collections.abc import Sequence

import pytest

from leaseforge_auth.oidc.errors import SsoMisconfigured, SsoUnavailable
from leaseforge_auth.oidc.fetching import MAX_BYTES, Fetcher, check_url, may_be_asked
from tests.sso.providers.fake import FakeProvider

PATH = "/.well-known/openid-configuration"


def resolving(*addresses: str) -> "Resolver":
    return Resolver(addresses)


class Resolver:
    """Answers with other addresses each time it is asked again, as a rebinding name server does."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.answers = [[address] for address in addresses]
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "198.18.0.1",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "not an address",
    ],
)
def test_inner_addresses_are_not_asked(address: str) -> None:
    assert not may_be_asked(address, is_own=False)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are(address: str) -> None:
    assert may_be_asked(address, is_own=False)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "fc00::1"])
def test_the_providers_own_host_may_be_inside(address: str) -> None:
    assert may_be_asked(address, is_own=True)
    assert not may_be_asked("0.0.0.0", is_own=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://login.example.com/",
        "ftp://login.example.com/",
        "file:///etc/passwd",
        "https:///x",
        "https://user:secret@login.example.com/",
        "https://login.example.com/a b",
        "https://login.example.com/\r\nx",
        "https://l\u00f6gin.example.com/",
        "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/",
        "http://169.254.169.254/",
        "unix:///run/x",
        "",
    ],
)
def test_only_https_is_asked_but_on_loopback(url: str) -> None:
    with pytest.raises(SsoMisconfigured):
        check_url(url)


async def test_a_host_with_an_inner_address_is_refused_unless_it_is_listed(fake: FakeProvider) -> None:
    url = f"http://localhost:{fake.port}{PATH}"

    with pytest.raises(SsoMisconfigured) as refused:
        await Fetcher([]).get(url)
    found = await Fetcher(["LocalHost"], resolve=resolving("127.0.0.1")).get(url)

    assert refused.value.cause == "private_address"
    assert "LEASEFORGE_OIDC_ALLOWED_HOSTS" in str(refused.value)
    assert found.status == 200
    assert fake.asked[PATH] == 1


async def test_one_inner_address_among_several_is_enough_to_refuse() -> None:
    async def both(host: str, port: int) -> Sequence[str]:
        return ["8.8.8.8", "10.0.0.1"]

    with pytest.raises(SsoMisconfigured):
        await Fetcher([], resolve=both).get("https://keys.example.com/")


async def test_a_name_is_asked_for_once_and_the_judged_address_is_used(fake: FakeProvider) -> None:
    rebinding = resolving("127.0.0.1", "10.0.0.1")

    await Fetcher(["localhost"], resolve=rebinding).get(f"http://localhost:{fake.port}{PATH}")

    assert rebinding.asked == 1


async def test_a_loopback_name_that_leads_elsewhere_is_refused() -> None:
    with pytest.raises(SsoMisconfigured):
        await Fetcher(["localhost"], resolve=resolving("10.0.0.1")).get("http://localhost:1/")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int, fake: FakeProvider) -> None:
    fake.statuses[PATH] = status

    with pytest.raises(SsoMisconfigured) as refused:
        await Fetcher(["127.0.0.1"]).get(fake.issuer + PATH)

    assert refused.value.cause == "redirected"
    assert sum(fake.asked.values()) == 1


@pytest.mark.parametrize(
    "body", [b"", b"no JSON", b"[]", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"a": "' + b"x" * MAX_BYTES + b'"}']
)
async def test_what_is_no_object_or_too_much_is_refused(body: bytes, fake: FakeProvider) -> None:
    fake.raw[PATH] = body

    with pytest.raises(SsoUnavailable) as refused:
        await Fetcher(["127.0.0.1"]).get(fake.issuer + PATH)

    assert refused.value.cause == "provider_answer"


async def test_an_answer_that_does_not_come_ends_the_request() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        fetcher = Fetcher(["127.0.0.1"], timeout_s=0.2)

        with pytest.raises(SsoUnavailable) as refused:
            await fetcher.get(f"http://127.0.0.1:{port}/")

        await fetcher.aclose()
    assert refused.value.cause == "provider_slow"


async def test_an_answer_that_drips_ends_the_request_as_well() -> None:
    async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(dripping, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        fetcher = Fetcher(["127.0.0.1"], timeout_s=0.3)

        with pytest.raises(SsoUnavailable):
            await fetcher.get(f"http://127.0.0.1:{port}/")

        await fetcher.aclose()


async def test_nobody_there_is_told() -> None:
    with pytest.raises(SsoUnavailable) as refused:
        await Fetcher(["127.0.0.1"]).get("http://127.0.0.1:9/")

    assert refused.value.cause == "provider_down"
