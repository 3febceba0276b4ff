"""The template environment: everything escaped, nothing undefined, a handful of filters and two address functions."""

import re

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension

from leaseforge_console.assets import StaticFiles, asset_dir
from leaseforge_console.filters import FILTERS
from leaseforge_console.paths import HOME
from leaseforge_console.settings import ConsoleSettings

_INDENTED = re.compile(r"(<pre\b.*?</pre>)|\n[ \t]+", re.DOTALL)


class WithoutIndentation(Extension):
    """Leaves the templates' own indentation out of pages: a third of their size. Data is never touched."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """The source with its lines moved to the left, except inside `pre`."""
        return _INDENTED.sub(lambda found: found[1] or "\n", source)


def environment(settings: ConsoleSettings, static: StaticFiles) -> Environment:
    """`link("/queues")`, `static("app.css")`, `server("/api/...")`: addresses that carry the installation's prefix.

    `elsewhere(url)` lets an address of another site through, and no other scheme than the web's; `trace(trace_id)` is
    where a trace is shown, "" where that is not known.
    """
    templates = Environment(
        loader=FileSystemLoader(asset_dir("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[WithoutIndentation],
    )
    templates.filters.update(FILTERS)

    def link(path: str) -> str:
        below = path.removeprefix("/") if path.startswith(("/?", "/#")) or path == "/" else path
        return f"{settings.root_path}{HOME}{below}"

    def elsewhere(url: str) -> str:
        if not url.startswith(("https://", "http://")):
            raise ValueError("a link to another site is https or http")
        return url

    def trace(trace_id: str) -> str:
        return settings.trace_url.replace("{trace_id}", trace_id)

    def server(path: str) -> str:
        return f"{settings.root_path}{path}"

    templates.globals.update(link=link, static=static.url, server=server, elsewhere=elsewhere, trace=trace)
    return templates
