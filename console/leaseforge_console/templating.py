"""The template environment: everything escaped, nothing undefined, a handful of filters and two address functions."""

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from leaseforge_console.assets import StaticFiles, asset_dir
from leaseforge_console.filters import FILTERS
from leaseforge_console.paths import HOME
from leaseforge_console.settings import ConsoleSettings


def environment(settings: ConsoleSettings, static: StaticFiles) -> Environment:
    """`link("/queues")` and `static("app.css")` give addresses that carry the installation's prefix."""
    templates = Environment(
        loader=FileSystemLoader(asset_dir("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    templates.filters.update(FILTERS)

    def link(path: str) -> str:
        below = path.removeprefix("/") if path.startswith(("/?", "/#")) or path == "/" else path
        return f"{settings.root_path}{HOME}{below}"

    templates.globals.update(link=link, static=static.url)
    return templates
