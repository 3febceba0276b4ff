"""Looks over the browser's shoulder: whatever a page should not do fails the story that saw it."""

import pathlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import axe_playwright_python  # type: ignore[import-untyped]  # it ships no types; only its folder is used
from playwright.sync_api import ConsoleMessage, Page, Request, Response

_AXE = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
_RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]
_COLLECT = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (e) => {
  window.__violations.push(`${e.violatedDirective}: ${e.blockedURI || e.sourceFile} ${e.sample}`);
});
"""


class Watch:
    """Everything that went wrong on one page object, and what was allowed to."""

    def __init__(self, page: Page, *, scripted: bool) -> None:
        self.page = page
        self.problems: list[str] = []
        self._scripted = scripted
        self._allowed: set[int] = set()
        self._may_break = False
        if scripted:
            page.add_init_script(_COLLECT)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"exception: {error}"))
        page.on("requestfailed", self._on_failure)
        page.on("response", self._on_response)
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))

    @contextmanager
    def expecting(self, *statuses: int) -> Iterator[None]:
        """Answers with these statuses are part of the story."""
        before = set(self._allowed)
        self._allowed |= set(statuses)
        yield
        self.page.wait_for_timeout(50)  # the console's own line about it comes a little later
        self._allowed = before

    @contextmanager
    def server_may_be_away(self) -> Iterator[None]:
        """Requests may fail in any way."""
        self._may_break = True
        yield
        self._may_break = False

    def check(self) -> None:
        """The page as it stands: accessible in both themes, no broken rule so far, nothing wider than the screen."""
        if self._scripted:
            self.page.evaluate(_AXE)
            self._check_access("light", {"type": "tag", "values": _RULES})
            # Only colours differ between the themes.
            self._check_access("dark", {"type": "rule", "values": ["color-contrast"]})
        self.check_rules()

    def check_rules(self) -> None:
        """The same without the costly look at accessibility, for a page of a kind that was checked already."""
        if self._scripted:
            self.problems += [f"CSP: {found}" for found in self.page.evaluate("window.__violations.splice(0)")]
            wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            if self.page.evaluate(wide):
                self.problems.append(f"{self.page.url} scrolls sideways")
        assert not self.problems, "\n".join(self.problems)

    def _check_access(self, scheme: Literal["light", "dark"], rules: dict[str, Any]) -> None:
        self.page.emulate_media(color_scheme=scheme)
        # Movement in progress (a toast that fades in) is not what the page looks like.
        self.page.evaluate("document.getAnimations().forEach((a) => { try { a.finish() } catch { a.cancel() } })")
        options = {"runOnly": rules, "resultTypes": ["violations"]}
        found: dict[str, Any] = self.page.evaluate("(options) => axe.run(document, options)", options)
        for violation in found["violations"]:
            for node in violation["nodes"]:
                told = f"{violation['id']} at {node['target']}: {node['failureSummary']}"
                self.problems.append(f"axe, {scheme}, {self.page.url}: {told}")

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning") or self._may_break:
            return
        if any(re.search(rf"status (of )?{status}\b", message.text) for status in self._allowed):
            return
        self.problems.append(f"console {message.type}: {message.text}")

    def _on_failure(self, request: Request) -> None:
        # A stream that ends because the page was left, or hidden, is no failure.
        if self._may_break or "/console/live/" in request.url or request.failure == "net::ERR_ABORTED":
            return
        self.problems.append(f"failed: {request.method} {request.url}: {request.failure}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self._allowed and not self._may_break:
            self.problems.append(f"{response.status}: {response.request.method} {response.url}")
