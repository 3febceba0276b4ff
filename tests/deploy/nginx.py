"""nginx as a process of a test."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.deploy.proxies import SAMPLES, Proxy, Way, certificate, replaced
from tests.support import Process, eventually_sync, free_port, unavailable

_LOCATIONS = "    # What orchestrators and Prometheus ask the servers themselves. "
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


@contextmanager
def nginx(folder: Path, servers: Sequence[int], *, way: Way = Way.OWN_HOST, port: int = 0) -> Iterator[Proxy]:
    """Runs it in front of the servers at these ports of 127.0.0.1; `port` is where it speaks https itself."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        unavailable("nginx is not installed: `.ci/ensure nginx`")
    folder.mkdir(parents=True, exist_ok=True)
    certificate_file, key_file = certificate(folder)
    port, plain = port or free_port(), free_port()
    sample = replaced(
        _sample(way),
        {
            "    server 127.0.0.1:8080 max_fails=0;\n    server 127.0.0.1:8082 max_fails=0;\n": "".join(
                f"    server 127.0.0.1:{each} max_fails=0;\n" for each in servers
            ),
            "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen 443 ssl http2;": f"listen 127.0.0.1:{port} ssl http2;",
            "/etc/nginx/tls/jobs.example.com.pem": str(certificate_file),
            "/etc/nginx/tls/jobs.example.com.key": str(key_file),
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
        yield Proxy(f"https://localhost:{port}", f"http://localhost:{plain}", certificate_file, process)


def _sample(way: Way) -> str:
    whole = (SAMPLES / "nginx.conf").read_text("utf-8")
    if way is Way.OWN_HOST:
        return whole
    head, mark, _ = whole.partition(_LOCATIONS)
    assert mark, "nginx.conf has no locations where they were"
    return f"{head}\n{(SAMPLES / f'nginx{way}.conf').read_text('utf-8')}\n}}\n"
