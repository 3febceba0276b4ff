"""The console as somebody uses it: what can be seen and pressed, in the words on the screen."""

from playwright.sync_api import Locator, Page, expect

from e2e.watching import Watch


class Console:
    """One browser window on the console."""

    def __init__(self, page: Page, watch: Watch, url: str) -> None:
        self.page = page
        self.watch = watch
        self.url = url

    def open(self, path: str = "") -> None:
        """Goes to a page of the console."""
        self.page.goto(f"{self.url}/console{path}")

    def log_in(self, username: str, password: str) -> None:
        """Fills in the login form, wherever it is asked for."""
        if "/login" not in self.page.url:
            self.open("/login")
        self.page.get_by_label("Name").fill(username)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Log in").click()

    def go_to(self, page: str) -> None:
        """Through the rail."""
        self.page.get_by_role("navigation", name="Console").get_by_role("link", name=page).click()

    def purge(self, queue: str) -> None:
        """Asks for the purge of a queue on the Queues page."""
        self.queue_row(queue).get_by_role("link", name=f"Purge… {queue}").click()

    def pause(self, queue: str, *, reason: str = "") -> None:
        """Pauses a queue from the Queues page."""
        self.queue_row(queue).get_by_role("link", name=f"Pause… {queue}").click()
        self.page.get_by_label("Reason").fill(reason)
        self.page.get_by_role("button", name="Pause the queue").click()

    def resume(self, queue: str) -> None:
        """Resumes a queue from the Queues page."""
        self.queue_row(queue).get_by_role("link", name=f"Resume… {queue}").click()
        self.page.get_by_role("button", name="Resume the queue").click()

    def queue_row(self, queue: str) -> Locator:
        """A queue's row on the Queues page."""
        return self.page.locator(f"#queue-{queue}")

    def cell(self, queue: str, label: str) -> Locator:
        """A count in a queue's row."""
        return self.queue_row(queue).locator(f"[data-label='{label}']")

    def expect_told(self, text: str) -> None:
        """A message says so."""
        expect(self.page.locator(".toast").filter(has_text=text).first).to_be_visible()

    def heading(self) -> Locator:
        """The page's title."""
        return self.page.get_by_role("heading", level=1)

    @property
    def dialog(self) -> Locator:
        """The open confirmation."""
        return self.page.locator("dialog[open]")
