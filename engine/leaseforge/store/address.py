"""Redis URLs of every kind we connect to, read once: one server, Sentinel, or Cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from leaseforge.errors import BadInput, FieldProblem

_SCHEMES = ("redis", "rediss", "unix", "sentinel", "sentinels", "cluster", "clusters")
_TLS_OPTIONS = {"ca_certs": "ssl_ca_certs", "certfile": "ssl_certfile", "keyfile": "ssl_keyfile"}


@dataclass(frozen=True, slots=True)
class Address:
    """Where Redis is. `kind` is single, sentinel or cluster.

    Forms: redis://[user:pass@]host:port/db, rediss:// (TLS), unix://[user:pass@]/path?db=0,
    sentinel://[user:pass@]host:port,host:port/service?db=0 and cluster://host:port,host:port; a
    final s (sentinels, clusters) means TLS. TLS options: ca_certs, certfile, keyfile. For Sentinels
    with credentials of their own: sentinel_username, sentinel_password. `protocol` 2 or 3 is the wire
    protocol, for a proxy that speaks but one; unset, client and server agree on it.
    """

    kind: str
    hosts: tuple[tuple[str, int], ...] = ()
    path: str | None = None
    db: int = 0
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: bool = False
    service: str = ""
    protocol: int | None = None
    tls_options: Mapping[str, str] = field(default_factory=dict)
    sentinel_auth: Mapping[str, str] = field(default_factory=dict, repr=False)

    def connection_options(self) -> dict[str, Any]:
        """Keyword arguments every client of redis-py takes for this address, without host and port."""
        options: dict[str, Any] = {"username": self.username, "password": self.password}
        if self.kind != "cluster":
            options["db"] = self.db
        if self.protocol is not None:
            options["protocol"] = self.protocol
        if self.tls:
            options |= {"ssl": True, "ssl_check_hostname": True, **self.tls_options}
        return options

    def credentials(self) -> dict[str, Any]:
        """What a second address of the same deployment shares with this one."""
        return {
            "username": self.username,
            "password": self.password,
            "protocol": self.protocol,
            "tls": self.tls,
            "tls_options": self.tls_options,
        }

    def __hash__(self) -> int:
        return hash((self.kind, self.hosts, self.path, self.db))

    def __str__(self) -> str:
        """The address without its password, fit for a log line."""
        where = self.path or ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{self.kind} {where}/{self.service or self.db}"


def parse_address(url: str) -> Address:
    """Reads a Redis URL. Raises BadInput that names what is wrong, never the password."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise _bad("is not a URL") from error
    if parts.scheme not in _SCHEMES:
        raise _bad(f"must begin with one of {', '.join(s + '://' for s in _SCHEMES)}")
    credentials, _, netloc = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    tls_options = {option: query[name] for name, option in _TLS_OPTIONS.items() if name in query}
    sentinel_auth = {
        name: query[f"sentinel_{name}"] for name in ("username", "password") if f"sentinel_{name}" in query
    }
    unknown = set(query) - {"db", "protocol", *_TLS_OPTIONS, "sentinel_username", "sentinel_password"}
    if unknown:
        raise _bad(f"has unknown options: {', '.join(sorted(unknown))}")
    path = unquote(parts.path)
    kind = {"sentinel": "sentinel", "sentinels": "sentinel", "cluster": "cluster", "clusters": "cluster"}.get(
        parts.scheme, "single"
    )
    is_unix = parts.scheme == "unix"
    if is_unix and not path:
        raise _bad("needs the path of a socket")
    service = path.strip("/") if kind == "sentinel" else ""
    if kind == "sentinel" and not service:
        raise _bad("needs the name of the service as its path, such as sentinel://host:26379/mymaster")
    db_text = query.get("db", path.strip("/") if kind == "single" and not is_unix else "") or "0"
    if not db_text.isdecimal() or int(db_text) > 1_000_000:
        raise _bad("needs a number as its database")
    if query.get("protocol", "2") not in ("2", "3"):
        raise _bad("needs 2 or 3 as its protocol")
    return Address(
        kind=kind,
        hosts=() if is_unix else tuple(_hosts(netloc, 26379 if kind == "sentinel" else 6379)),
        path=path if is_unix else None,
        db=int(db_text),
        username=unquote(username) or None,
        password=unquote(password) or None,
        tls=parts.scheme in ("rediss", "sentinels", "clusters"),
        service=service,
        protocol=int(query["protocol"]) if "protocol" in query else None,
        tls_options=tls_options,
        sentinel_auth=sentinel_auth,
    )


def _hosts(netloc: str, default_port: int) -> list[tuple[str, int]]:
    hosts = []
    for entry in netloc.split(","):
        try:
            parts = urlsplit(f"//{entry}")
            hosts.append((parts.hostname or "localhost", parts.port or default_port))
        except ValueError as error:
            raise _bad(f"has a bad host or port: {entry}") from error
    return hosts


def _bad(message: str) -> BadInput:
    return BadInput([FieldProblem("redis_url", message)])
