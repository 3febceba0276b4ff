"""What a browser does with the console's pages, as far as tests need it."""

import html
import re
from collections.abc import Mapping

import httpx

_TOKEN = re.compile(r'name="_csrf" value="([0-9a-f]+)"')
_TAGS = re.compile(r"<(script|style|svg|template)\b.*?</\1>|<[^>]+>", re.DOTALL)


class Visitor:
    """Gets pages and sends their forms. Remembers the last form token it saw."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.token = ""
        self.page = "/console"

    async def get(self, path: str, *, htmx: bool = False, headers: dict[str, str] | None = None) -> httpx.Response:
        """Opens a page; redirects are not followed."""
        answer = await self.client.get(path, headers=self._headers(htmx=htmx) | (headers or {}))
        if found := _TOKEN.search(answer.text):
            self.token = found[1]
        if not htmx and answer.status_code == 200:
            self.page = path
        return answer

    async def post(
        self,
        path: str,
        form: Mapping[str, str] | None = None,
        *,
        htmx: bool = False,
        csrf: bool = True,
        origin: str = "same-origin",
        **fields: str,
    ) -> httpx.Response:
        """Sends a form from the page opened last."""
        data = ({"_csrf": self.token} if csrf and self.token else {}) | dict(form or {}) | fields
        headers = self._headers(htmx=htmx) | {"sec-fetch-site": origin}
        return await self.client.post(path, data=data, headers=headers)

    def _headers(self, *, htmx: bool) -> dict[str, str]:
        here = f"http://127.0.0.1{self.page}"
        return {"referer": here} | ({"hx-request": "true", "hx-current-url": here} if htmx else {})


def words(page: str) -> str:
    """The text somebody reads on a page, spaces evened out."""
    return re.sub(r"\s+", " ", html.unescape(_TAGS.sub(" ", page.partition("<body>")[2] or page))).strip()


def hidden_fields(page: str, action: str) -> dict[str, str]:
    """The hidden fields of the form that posts to an address."""
    form = re.search(rf'<form[^>]*action="{re.escape(action)}".*?</form>', page, re.DOTALL)
    assert form is not None, f"no form posts to {action}"
    pairs = re.findall(r'<input type="hidden"\s+name="([^"]+)"\s+value="([^"]*)"', form[0])
    return {name: html.unescape(value) for name, value in pairs if name != "_csrf"}
