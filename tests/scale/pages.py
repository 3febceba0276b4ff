"""Every page of the console over a million jobs: how long the server takes, how large it is, when it is painted."""

import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import httpx

from tests.scale.populating import Population
from tests.scale.stage import PASSWORD, USER, Stage
from tests.scale.watching import share

REPEATS = 30
PAINTS = 3
_TOKEN = re.compile(r'name="_csrf" value="([0-9a-f]+)"')


@dataclass(frozen=True, slots=True)
class Seen:
    """One page. Times are ms; `kib` is its HTML as it is sent, `paint` the first paint with content in Chromium."""

    path: str
    p50: float
    p95: float
    longest: float
    kib: float
    paint: float
    load: float

    def row(self) -> str:
        """As the table shows it."""
        times = f"{self.p50:8.1f} {self.p95:8.1f} {self.longest:8.1f}"
        return f"{self.path[:64]:64} {times} {self.kib:8.1f} {self.paint:8.0f} {self.load:6.1f}"


HEADING = f"{'ms':64} {'p50':>8} {'p95':>8} {'longest':>8} {'KiB':>8} {'paint':>8} {'load':>6}"


def paths(stage: Stage, population: Population) -> Iterator[str]:
    """Each page that shows more the more there is; lists also narrowed, and far behind their beginning."""
    names = population.names()
    queue = names[len(names) // 2]
    job = f"{1:08x}-{len(names) // 2:04x}-4000-8000-{7:012x}"
    worker = quote(f"host-{population.workers // 2:03}", safe="")
    yield from ("", "/queues", f"/queues?q={queue[:-1]}", f"/queues/{queue}")
    yield from (f"/queues/{queue}?state={state}" for state in ("ready", "dead", "completed"))
    yield from (f"/queues/{queue}/purge", f"/queues/{queue}/settings")
    yield from ("/jobs", "/jobs?state=ready", "/jobs?state=completed", "/jobs?type=type-7", "/jobs?tag=tenant-7")
    yield from ("/jobs?text=moon", f"/jobs?queue={queue}", f"/jobs/{job}", "/jobs/new")
    yield from ("/dead", f"/dead?queue={queue}", "/dead/jobs", f"/dead/jobs?queue={queue}", "/dead/jobs?type=rare")
    yield from ("/delayed", "/delayed?type=rare", "/operations", "/operations/new?action=retry")
    yield from ("/workers", f"/workers/{worker}", f"/workers?queue={queue}", "/metrics", "/system")
    yield from (f"/find?q={queue}", f"/find?q={job}", "/audit", "/users", "/tokens", "/account")


def measure(stage: Stage, population: Population, *, only: Sequence[str] = ()) -> list[Seen]:
    """Opens every page again and again; prints a row as soon as it is there. Painting needs a Chromium."""
    server = stage.start_server()
    base = f"http://127.0.0.1:{server.port}/console"
    rows = []
    print(HEADING, flush=True)
    with httpx.Client(timeout=60, headers={"accept-encoding": "identity"}) as client:
        _log_in(client, base)
        with _Painter(client) as painter:
            for path in paths(stage, population):
                if only and not any(word in path for word in only):
                    continue
                if (seen := _open(client, painter, base, path)) is not None:
                    rows.append(seen)
                    print(seen.row(), flush=True)
    return rows


def _log_in(client: httpx.Client, base: str) -> None:
    found = _TOKEN.search(client.get(f"{base}/login").text)
    form = {"username": USER, "password": PASSWORD} | ({"_csrf": found[1]} if found else {})
    answer = client.post(f"{base}/login", data=form, headers={"sec-fetch-site": "same-origin"})
    assert answer.status_code == 303, answer.text[:500]


def _open(client: httpx.Client, painter: "_Painter", base: str, path: str) -> Seen | None:
    took = []
    answer = client.get(base + path)
    if answer.status_code != 200:
        print(f"{path}: {answer.status_code}", flush=True)
        return None
    for _ in range(REPEATS):
        started = time.perf_counter()
        answer = client.get(base + path)
        took.append((time.perf_counter() - started) * 1000)
    paint = painter.paint(base + path)
    load = os.getloadavg()[0]
    return Seen(path, share(took, 0.5), share(took, 0.95), max(took), len(answer.content) / 1024, paint, load)


class _Painter:
    """A browser that is logged in like `client`."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def __enter__(self) -> "_Painter":
        from playwright.sync_api import sync_playwright  # here: whoever has no browser measures the rest

        self._playwright = sync_playwright().start()
        program = shutil.which("chromium") or shutil.which("google-chrome")
        self._browser = self._playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = self._browser.new_context(viewport={"width": 1440, "height": 900})
        for cookie in self._client.cookies.jar:
            context.add_cookies(
                [{"name": cookie.name, "value": cookie.value or "", "domain": "127.0.0.1", "path": cookie.path}]
            )
        self._page = context.new_page()
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._playwright.stop()

    def paint(self, url: str) -> float:
        """Ms from the navigation to the first paint with content; the median of a few."""
        took = []
        for _ in range(PAINTS):
            self._page.goto(url, wait_until="load")
            took.append(float(self._page.evaluate(_PAINTED)))
        return sorted(took)[len(took) // 2]


_PAINTED = """async () => {
  for (let turn = 0; turn < 100; turn++) {
    const found = performance.getEntriesByName('first-contentful-paint')[0];
    if (found) return found.startTime;
    await new Promise(done => setTimeout(done, 20));
  }
  return -1;
}"""
