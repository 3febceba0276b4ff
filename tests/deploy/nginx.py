"""nginx as a process of a test, with the samples of deploy/proxy: only names, files and addresses are replaced."""

import datetime
import ipaddress
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support import Process, eventually_sync, free_port, unavailable

SAMPLES = Path(__file__).parents[2] / "deploy/proxy"
_LOCATIONS = "    # What orchestrators and Prometheus ask the servers themselves."
_AROUND = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 512; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/sample.conf;
}}
"""


@dataclass(frozen=True, slots=True)
class Nginx:
    """A running proxy: where browsers find it, without a path, and the file with the certificate they trust."""

    url: str
    plain_url: str
    ca_file: Path
    process: Process


@contextmanager
def nginx(folder: Path, servers: Sequence[int], *, locations: str | None = None, port: int = 0) -> Iterator[Nginx]:
    """nginx.conf in front of servers at these ports of 127.0.0.1; `locations` names the sample with other locations."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        unavailable("nginx is not installed: `.ci/ensure nginx`")
    folder.mkdir(parents=True, exist_ok=True)
    certificate, key = _certificate(folder)
    port, plain = port or free_port(), free_port()
    sample = replaced(
        _sample(locations),
        {
            "    server 127.0.0.1:8080 max_fails=0;\n    server 127.0.0.1:8082 max_fails=0;\n": "".join(
                f"    server 127.0.0.1:{each} max_fails=0;\n" for each in servers
            ),
            "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen 443 ssl http2;": f"listen 127.0.0.1:{port} ssl http2;",
            "/etc/nginx/tls/jobs.example.com.pem": str(certificate),
            "/etc/nginx/tls/jobs.example.com.key": str(key),
            "server_name jobs.example.com;": "server_name localhost;",
        },
    )
    (folder / "sample.conf").write_text(sample)
    whole = folder / "nginx.conf"
    # As root its workers would become somebody who cannot read the test's folder.
    user = "" if os.geteuid() else "user root;"
    whole.write_text(_AROUND.format(folder=folder, user=user))
    with Process([program, "-c", whole, "-p", folder], output_file=folder / "nginx.log") as process:

        def has_started() -> bool:
            process.check_running()
            return (folder / "nginx.pid").exists()

        eventually_sync(has_started, within_s=30)
        yield Nginx(f"https://localhost:{port}", f"http://localhost:{plain}", certificate, process)


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """The text with every occurrence replaced; one that is not there is a change of the sample to be looked at."""
    for old, new in changes.items():
        assert old in text, f"the sample has no {old!r}"
        text = text.replace(old, new)
    return text


def _sample(locations: str | None) -> str:
    whole = (SAMPLES / "nginx.conf").read_text()
    if locations is None:
        return whole
    head, mark, _ = whole.partition(_LOCATIONS)
    assert mark, "nginx.conf has no locations where they were"
    return f"{head}\n{(SAMPLES / locations).read_text()}\n}}\n"


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine's own names, good for a day, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
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
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate_file, key_file
