"""Asking the provider: only where that is allowed, never for long, never for much, and never led elsewhere.

What a provider's documents name is not trusted: a host is resolved once, every address it has is judged, and the
connection goes to one of those addresses, so that a name cannot point somewhere else a moment later.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpcore
import msgspec

from leaseforge_auth.addresses import is_loopback
from leaseforge_auth.oidc.errors import SsoMisconfigured, SsoUnavailable

TIMEOUT_S = 5.0
MAX_BYTES = 1 << 20
_AT_ONCE = 10

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a JSON object; `document` is empty where there was none."""

    status: int
    document: Mapping[str, Any]


class Fetcher:
    """Connections to the provider. `own_hosts` (the issuer's, and those listed) may have private addresses."""

    def __init__(
        self,
        own_hosts: Iterable[str],
        *,
        resolve: Resolve | None = None,
        timeout_s: float = TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._tls = tls
        self._network = _Guarded(frozenset(host.lower() for host in own_hosts), resolve or _resolve)
        self._opened: httpcore.AsyncConnectionPool | None = None

    async def aclose(self) -> None:
        """Closes what is open."""
        if self._opened is not None:
            await self._opened.aclose()

    @property
    def _pool(self) -> httpcore.AsyncConnectionPool:
        """Made when it is needed: reading the system's authorities takes a while."""
        if self._opened is None:
            self._opened = httpcore.AsyncConnectionPool(
                ssl_context=self._tls or ssl.create_default_context(),
                max_connections=_AT_ONCE,
                keepalive_expiry=10.0,
                network_backend=self._network,
            )
        return self._opened

    async def get(self, url: str, *, bearer: str = "") -> Answer:
        """A JSON document. Raises SsoUnavailable, SsoMisconfigured (an address that is not asked)."""
        return await self._ask("GET", url, [("authorization", f"Bearer {bearer}")] if bearer else [], None)

    async def post(self, url: str, form: bytes, *, authorization: str = "") -> Answer:
        """The answer to a form. Raises SsoUnavailable, SsoMisconfigured."""
        headers = [("content-type", "application/x-www-form-urlencoded")]
        if authorization:
            headers.append(("authorization", authorization))
        return await self._ask("POST", url, headers, form)

    async def _ask(self, method: str, url: str, headers: list[tuple[str, str]], content: bytes | None) -> Answer:
        check_url(url)
        host = urlsplit(url).hostname
        sent = [("accept", "application/json"), ("accept-encoding", "identity"), ("user-agent", "leaseforge"), *headers]
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), self._timeout_s)
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._pool.stream(
                    method, url, headers=_with_host(url, sent), content=content, extensions={"timeout": timeouts}
                ) as response,
            ):
                return await _read(response, str(host))
        except (httpcore.TimeoutException, TimeoutError) as error:
            raise SsoUnavailable("provider_slow", f"{host} did not answer within {self._timeout_s:g} s") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise SsoUnavailable("provider_down", f"{host} cannot be reached") from error


def check_url(url: str) -> None:
    """Refuse (SsoMisconfigured) an address that is neither https nor on this machine."""
    parts = urlsplit(url)
    is_web = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.netloc))
    if not is_web or not parts.hostname or parts.username or not url.isascii() or not url.isprintable() or " " in url:
        raise SsoMisconfigured("bad_endpoint", "the provider names an address that is not https")


def may_be_asked(address: str, *, is_own: bool) -> bool:
    """Whether a host with this address may be asked: a public one, or any if it is the provider's own host."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if inner is None and parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        parsed = inner or parsed
    return (is_own and not parsed.is_multicast and not parsed.is_unspecified) or (
        parsed.is_global and not parsed.is_multicast and not parsed.is_reserved
    )


_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class _Guarded(httpcore.AsyncNetworkBackend):
    """Opens connections only to addresses that were judged, under the name that was asked for."""

    def __init__(self, own_hosts: frozenset[str], resolve: Resolve) -> None:
        self._own_hosts = own_hosts
        self._resolve = resolve
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first of the host's addresses that takes one."""
        name = host.lower().strip("[]")
        found = await self._resolve(name, port)
        if not found or not all(may_be_asked(address, is_own=name in self._own_hosts) for address in found):
            raise SsoMisconfigured(
                "private_address",
                f"the provider's host {name} has an inner address: list it in LEASEFORGE_OIDC_ALLOWED_HOSTS",
            )
        if is_loopback(f"[{name}]" if ":" in name else name) and not all(
            ipaddress.ip_address(address).is_loopback for address in found
        ):
            raise SsoMisconfigured("bad_endpoint", f"{name} is not this machine")
        for address in found[:-1]:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError:
                continue
        return await self._inner.connect_tcp(found[-1], port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own signature
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """No provider is there."""
        raise SsoMisconfigured("bad_endpoint", "the provider is not asked by a socket file")

    async def sleep(self, seconds: float) -> None:
        """As the library wants it."""
        await asyncio.sleep(seconds)


async def _resolve(host: str, port: int) -> Sequence[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise SsoUnavailable("provider_down", f"{host} has no address") from error
    return [str(entry[4][0]) for entry in found]


def _with_host(url: str, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [("host", urlsplit(url).netloc), *headers]


async def _read(response: httpcore.Response, host: str) -> Answer:
    if 300 <= response.status < 400:
        raise SsoMisconfigured("redirected", f"{host} answers with a redirect: name the address it leads to")
    if any(name.lower() == b"content-encoding" and value != b"identity" for name, value in response.headers):
        raise SsoUnavailable("provider_answer", f"{host} answered in a form that was not asked for")
    body = bytearray()
    async for chunk in response.aiter_stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise SsoUnavailable("provider_answer", f"{host} answered with more than 1 MiB")
    try:
        document = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        document = None
    if not isinstance(document, dict):
        if response.status < 300:
            raise SsoUnavailable("provider_answer", f"{host} did not answer with JSON")
        document = {}
    return Answer(response.status, document)
