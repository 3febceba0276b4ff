"""Traefik as a process of a test."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.proxies import SAMPLES, Proxy, Way, certificate, program, wait_for
from tests.support import Process, free_port


@contextmanager
def traefik(folder: Path, servers: Sequence[int], *, way: Way = Way.OWN_HOST, port: int = 0) -> Iterator[Proxy]:
    """Runs it in front of the servers at these ports of 127.0.0.1; `port` is where it speaks https itself."""
    path = program("traefik")
    dynamic = folder / "dynamic"
    dynamic.mkdir(parents=True, exist_ok=True)
    certificate_file, key_file = certificate(folder)
    port, plain = port or free_port(), free_port()

    static = _read("traefik-static.yaml")
    for name, address, own in (("web", ":80", plain), ("websecure", ":443", port)):
        assert static["entryPoints"][name]["address"] == address
        static["entryPoints"][name]["address"] = f"127.0.0.1:{own}"
    assert static["providers"]["file"]["directory"] == "/etc/traefik/dynamic"
    static["providers"]["file"]["directory"] = str(dynamic)
    # It would get a certificate there.
    del static["certificatesResolvers"]

    proxied = _read("traefik.yaml")
    balanced = proxied["http"]["services"]["leaseforge"]["loadBalancer"]
    assert balanced["servers"] == [{"url": "http://127.0.0.1:8080"}, {"url": "http://127.0.0.1:8082"}]
    balanced["servers"] = [{"url": f"http://127.0.0.1:{each}"} for each in servers]
    if way is not Way.OWN_HOST:
        proxied["http"] |= _read(f"traefik{way}.yaml")["http"]
    router = proxied["http"]["routers"]["leaseforge"]
    host = "jobs.example.com" if way is Way.OWN_HOST else "www.example.com"
    assert f"Host(`{host}`)" in router["rule"]
    router["rule"] = router["rule"].replace(host, "localhost")
    assert router["tls"] == {"certResolver": "default"}
    router["tls"] = {}
    pair = {"certFile": str(certificate_file), "keyFile": str(key_file)}
    proxied["tls"] = {"certificates": [pair]}

    whole = folder / "traefik.yaml"
    whole.write_text(yaml.safe_dump(static), "utf-8")
    (dynamic / "leaseforge.yaml").write_text(yaml.safe_dump(proxied), "utf-8")
    with Process([path, f"--configFile={whole}"], output_file=folder / "traefik.log") as process:
        wait_for(process, port, plain, certificate_file)
        yield Proxy(f"https://localhost:{port}", f"http://localhost:{plain}", certificate_file, process)


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((SAMPLES / name).read_text("utf-8"))
    return found
