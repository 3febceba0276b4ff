"""Takes the pictures of docs/screenshots: `python -m e2e.screenshots`, or `make screenshots`.

Starts an installation of its own, furnishes it with a shop's queues, and photographs every page in every look.
Pictures become small where pngquant is installed.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from e2e.conftest import FLAGS
from e2e.console import Console
from e2e.furnishing import furnish
from e2e.producing import running_worker
from e2e.product import ADMIN, VIEWER, Product, running
from e2e.watching import Watch
from leaseforge import bulk
from leaseforge.bulk_records import BulkState

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "screenshots"
# A loaded machine is no reason to be without pictures.
_PATIENCE_MS = 120_000


class Look(NamedTuple):
    """A screen and a theme; the suffix names its pictures."""

    suffix: str
    width: int
    height: int
    theme: Literal["light", "dark"]


LOOKS = (
    Look("", 1440, 900, "light"),
    Look("-dark", 1440, 900, "dark"),
    Look("-narrow", 360, 740, "light"),
)


def main() -> int:
    """Takes all pictures; says where they are."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as product, browsing() as browser:
        jobs = furnish(product)
        FOLDER.mkdir(parents=True, exist_ok=True)
        console = window(browser, product)
        console.open("/login")
        keep(console.page, "login")
        console.log_in(*ADMIN)
        console.heading().get_by_text("Overview").wait_for()
        save_views(console)
        for name, path in pages(product, jobs).items():
            visit(console, path)
            keep(console.page, name)
        photograph_overlays(console, jobs["job-dead"])
        photograph_operation(console, product)
    pictures = list(FOLDER.glob("*.png"))
    make_small(pictures)
    print(f"{len(pictures)} pictures in {FOLDER}")
    return 0


@contextmanager
def browsing() -> Iterator[Browser]:
    """The machine's Chromium, else Playwright's."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


def window(browser: Browser, product: Product) -> Console:
    """A window that nobody is logged in to."""
    context = browser.new_context()
    context.set_default_timeout(_PATIENCE_MS)
    page = context.new_page()
    return Console(page, Watch(page, scripted=True), product.url)


def pages(product: Product, jobs: Mapping[str, str]) -> dict[str, str]:
    """Picture -> address below /console."""
    dead, running_job, completed = jobs["job-dead"], jobs["job-running"], jobs["job-completed"]
    return {
        "overview": "",
        "queues": "/queues",
        "queue": "/queues/billing?state=dead",
        "queue-pause": "/queues/billing/pause",
        "queue-settings": "/queues/billing/settings",
        "queue-change": "/queues/billing/settings/review?max_running=4&dead_keep=3",
        "saved-views": "/views",
        "jobs": "/jobs",
        "jobs-none": "/jobs?queue=billing&state=running",
        "delayed": "/delayed",
        "dead": "/dead",
        "dead-jobs": "/dead/jobs?queue=billing",
        "workers": "/workers",
        "worker": f"/workers/{running_worker(product)}",
        "metrics": "/metrics",
        "system": "/system",
        "api": "/api",
        "find": "/find?q=8f3b0c52-6d0e-4b7b-9d0c-2f6d1b7f3c11",
        "users": "/users",
        "user": f"/users/{VIEWER[0]}",
        "user-new": "/new-user",
        "tokens": "/tokens",
        "new-token": "/account/tokens/new",
        "account": "/account",
        "audit": "/audit",
        **{name: f"/jobs/{job_id}" for name, job_id in jobs.items()},
        "job-edit": f"/jobs/{dead}/edit",
        "job-cancel": f"/jobs/{running_job}/cancel",
        "job-reveal": f"/jobs/{dead}/reveal",
        "new-job": f"/jobs/new?like={completed}",
    }


def visit(console: Console, path: str) -> None:
    """Opens a page and waits until it shows what it will show."""
    console.open(path)
    page = console.page
    if page.locator("#live").count():
        page.locator("#live[data-state=live]").wait_for()
    if page.locator("#api").count():
        page.locator("#api .opblock").first.wait_for()


def save_views(console: Console) -> None:
    """Two lists the operator of the pictures keeps coming back to."""
    for name, path in {
        "Cards that fail": "/dead/jobs?queue=billing&type=charge_card",
        "All that waits for the mail provider": "/jobs?queue=mail&type=send_email",
    }.items():
        visit(console, path)
        console.page.locator("#save-view > summary").click()
        console.page.get_by_label("Name of the view").fill(name)
        console.page.locator("#save-view").get_by_role("button", name="Save").click()
        console.page.locator(".toast").first.wait_for()


def photograph_overlays(console: Console, dead_job: str) -> None:
    """What lies over a page: the palette, the keys, questions, the changes of a payload."""
    page = console.page
    visit(console, "/queues")
    console.purge("media")
    console.dialog.wait_for()
    keep(page, "purge", whole=False)
    visit(console, "/queues")
    page.keyboard.press("Control+k")
    console.dialog.get_by_role("combobox").fill("billing")
    console.dialog.get_by_role("option").first.wait_for()
    keep(page, "palette", whole=False)
    visit(console, "/queues")
    page.keyboard.press("?")
    console.dialog.wait_for()
    keep(page, "keys", whole=False)
    visit(console, "/queues")
    page.set_viewport_size({"width": 360, "height": 740})
    page.get_by_role("button", name="Pages").click()
    page.locator("#rail:popover-open").wait_for()
    shoot(page, "rail-narrow", whole=False)
    page.set_viewport_size({"width": LOOKS[0].width, "height": LOOKS[0].height})
    visit(console, f"/jobs/{dead_job}/edit")
    payload = page.get_by_label("Payload, JSON")
    payload.fill(payload.input_value().replace('"EUR"', '"CHF"'))
    page.get_by_role("button", name="Show the changes").click()
    page.locator(".diff").wait_for()
    keep(page, "job-changes")


def photograph_operation(console: Console, product: Product) -> None:
    """A group of dead jobs that is replayed: the question, the operation at work, the list of operations."""
    page = console.page
    visit(console, "/dead?queue=billing")
    page.locator("#groups").get_by_role("button", name="Retry").click()
    console.dialog.wait_for()
    keep(page, "retry-group", whole=False)
    console.dialog.get_by_label("Jobs a second, at most").fill("1")
    console.dialog.get_by_role("button", name="Retry").click()
    page.get_by_role("region", name="Progress").get_by_text("left").first.wait_for()
    keep(page, "operation")
    visit(console, "/operations")
    keep(page, "operations")
    for going in product.store.run(bulk.operations([BulkState.RUNNING])).items:
        product.store.run(bulk.abort(going.id, user=ADMIN[0]))


def keep(page: Page, name: str, *, whole: bool = True) -> None:
    """The page as it stands, in every look."""
    for look in LOOKS:
        page.set_viewport_size({"width": look.width, "height": look.height})
        page.emulate_media(color_scheme=look.theme)
        shoot(page, f"{name}{look.suffix}", whole=whole)
    page.set_viewport_size({"width": LOOKS[0].width, "height": LOOKS[0].height})


def shoot(page: Page, name: str, *, whole: bool) -> None:
    """One picture; what still moves is shown at rest, and no message of a moment covers what it lies on."""
    # As when the page is opened at this width: the current tab is in sight.
    tab = page.locator(".tabs [aria-current]")
    tab.evaluate_all("(tabs) => tabs[0]?.scrollIntoView({ block: 'nearest', inline: 'center' })")
    page.evaluate("document.getAnimations().forEach((a) => { try { a.finish() } catch { a.cancel() } })")
    page.evaluate("document.querySelectorAll('#toasts > *').forEach((toast) => toast.remove())")
    page.screenshot(path=FOLDER / f"{name}.png", full_page=whole)


def make_small(pictures: list[Path]) -> None:
    """Colours by palette: a third of the size, nothing to see."""
    tool = shutil.which("pngquant")
    if tool is not None and pictures:
        subprocess.run([tool, "--force", "--skip-if-larger", "--ext", ".png", "--", *map(str, pictures)], check=False)


if __name__ == "__main__":
    sys.exit(main())
