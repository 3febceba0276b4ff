"""Caddy as a process of a test."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.deploy.proxies import SAMPLES, Proxy, Way, certificate, program, replaced, wait_for
from tests.support import Process, free_port

_SITE = "jobs.example.com {\n"
_AROUND = """{{
	admin off
	skip_install_trust
	default_bind 127.0.0.1
	http_port {plain}
	https_port {port}
}}
"""


@contextmanager
def caddy(folder: Path, servers: Sequence[int], *, way: Way = Way.OWN_HOST, port: int = 0) -> Iterator[Proxy]:
    """Runs it in front of the servers at these ports of 127.0.0.1; `port` is where it speaks https itself."""
    path = program("caddy")
    folder.mkdir(parents=True, exist_ok=True)
    certificate_file, key_file = certificate(folder)
    port, plain = port or free_port(), free_port()
    sample = replaced(
        _sample(way),
        {
            "127.0.0.1:8080 127.0.0.1:8082": " ".join(f"127.0.0.1:{each}" for each in servers),
            # It would get a certificate itself.
            _SITE: f"localhost {{\n\ttls {certificate_file} {key_file}\n",
        },
    )
    whole = folder / "Caddyfile"
    whole.write_text(_AROUND.format(port=port, plain=plain) + sample)
    argv: list[str | Path] = [path, "run", "--config", whole, "--adapter", "caddyfile"]
    own = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with Process(argv, output_file=folder / "caddy.log", env=own) as process:
        wait_for(process, port, plain, certificate_file)
        yield Proxy(f"https://localhost:{port}", f"http://localhost:{plain}", certificate_file, process)


def _sample(way: Way) -> str:
    whole = (SAMPLES / "Caddyfile").read_text("utf-8")
    if way is Way.OWN_HOST:
        return whole
    head, mark, _ = whole.partition(_SITE)
    assert mark, "Caddyfile has no site where it was"
    lines = textwrap.indent((SAMPLES / f"Caddyfile{way}").read_text("utf-8"), "\t")
    return f"{head}{_SITE}{lines}}}\n"
