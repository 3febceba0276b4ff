"""Where a request really came from when proxies stand in between."""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from litestar import Request  # commands that read the server's settings do without the web framework

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
UNKNOWN = "unknown"


def request_address(request: "Request[Any, Any, Any]", trusted: Sequence[Network]) -> str:
    """Where this request really came from."""
    peer = request.client.host if request.client else None
    return client_address(peer, request.headers.getall("x-forwarded-for", []), trusted)


def client_address(peer: str | None, forwarded_for: Iterable[str], trusted: Sequence[Network]) -> str:
    """The address to hold responsible: the peer, or what trusted proxies say about who asked them.

    `forwarded_for` are the values of X-Forwarded-For. They are read from the right, because everything left of the
    first address that is no trusted proxy was written by the client. An IPv6 client counts as its /64 network, which
    is what one customer gets.
    """
    address = _parse(peer or "")
    if address is None:
        return UNKNOWN
    for hop in reversed([part.strip() for value in forwarded_for for part in value.split(",")]):
        if not _is_trusted(address, trusted):
            break
        behind = _parse(hop)
        if behind is None:
            break
        address = behind
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def is_trusted_proxy(peer: str, trusted: Sequence[Network]) -> bool:
    """Whether what this peer says about the request in its headers is believed."""
    address = _parse(peer)
    return address is not None and _is_trusted(address, trusted)


def is_loopback(host: str) -> bool:
    """Whether a Host header means this machine: localhost or a loopback address, with or without a port."""
    name = host[1 : host.find("]")] if host.startswith("[") else host.rpartition(":")[0] or host
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _parse(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _is_trusted(address: ipaddress.IPv4Address | ipaddress.IPv6Address, trusted: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in trusted)
