"""Options of commands that are read like settings."""

from collections.abc import Callable
from typing import Any

import click


class Parsed(click.ParamType[Any]):
    """A text that is read by a setting's parser; what is wrong is told in the parser's own words."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, or a usage error."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)
