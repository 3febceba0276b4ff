"""What the proxies of tests have in common. Each runs the samples of deploy/proxy with names and addresses replaced."""

import datetime
import ipaddress
import shutil
import socket
import ssl
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support import Process, eventually_sync

SAMPLES = Path(__file__).parents[2] / "deploy/proxy"
# Where `.ci/ensure proxies` puts those that are not installed.
_FETCHED = Path(sys.prefix) / "proxies" / "bin"


class Way(StrEnum):
    """How a proxy can be set up; the value is what the names of its samples end with."""

    OWN_HOST = ""
    PREFIX_KEPT = "-prefix"
    PREFIX_STRIPPED = "-prefix-stripped"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy: where browsers find it, without a path, and the file with the certificate they trust."""

    url: str
    plain_url: str
    ca_file: Path
    process: Process


class StartProxy(Protocol):
    """Runs a proxy in front of the servers at these ports of 127.0.0.1; `port` is where it speaks https itself."""

    def __call__(
        self, folder: Path, servers: Sequence[int], *, way: Way = Way.OWN_HOST, port: int = 0
    ) -> AbstractContextManager[Proxy]: ...


def program(name: str) -> str:
    """The path of a proxy that need not be installed: without it the test is skipped."""
    path = shutil.which(name) or shutil.which(name, path=_FETCHED)
    if path is None:
        pytest.skip(f"{name} is not installed (.ci/ensure proxies)")
    return path


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """The text with every occurrence replaced; one that is not there is a change of the sample to be looked at."""
    for old, new in changes.items():
        assert old in text, f"the sample has no {old!r}"
        text = text.replace(old, new)
    return text


def wait_for(process: Process, port: int, plain: int, ca_file: Path) -> None:
    """Until it takes connections, and shows our certificate: a proxy may listen before it knows what to serve."""
    trust = ssl.create_default_context(cafile=str(ca_file))

    def serves() -> bool:
        process.check_running()
        try:
            socket.create_connection(("127.0.0.1", plain), timeout=5).close()
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                trust.wrap_socket(connection, server_hostname="localhost").close()
        except OSError:
            return False
        return True

    eventually_sync(serves, within_s=60)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine's own names, good for a day, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = folder / "tls.pem", folder / "tls.key"
    certificate_file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate_file, key_file
