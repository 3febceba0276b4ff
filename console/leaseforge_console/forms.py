"""What a form sent, field by field: texts, and choices of which several may be ticked."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, TypeVar

from litestar.enums import RequestEncodingType
from litestar.params import Body

from leaseforge.errors import BadInput, FieldProblem
from leaseforge_console.console import ConsoleRequest

MAX_TEXT = 1_000
MAX_LINES_TEXT = 2_000_000
"""More than a request may carry: what is too long for its purpose is told beside the field."""

T = TypeVar("T")
Choice = TypeVar("Choice", bound=StrEnum)
FromForm = Annotated[T, Body(media_type=RequestEncodingType.URL_ENCODED)]
"""A form with these very fields, as litestar reads it."""


class Sent:
    """The fields of a form. Values are texts; a field that is missing counts as empty."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = pairs

    def text(self, name: str, *, most: int = MAX_TEXT) -> str:
        """The field's text as it was typed. Raises BadInput for one that no field of ours takes."""
        value = next((value for field, value in self._pairs if field == name), "")
        if len(value) > most:
            raise BadInput([FieldProblem(name, f"must be {most:,} characters at most")])
        return value

    def lines(self, name: str) -> str:
        """A text of many lines, however long; browsers send their ends as CR LF."""
        return self.text(name, most=MAX_LINES_TEXT).replace("\r\n", "\n")

    def every(self, name: str, *, most: int) -> tuple[str, ...]:
        """All values of a field that may come several times, each once. Raises BadInput for more than `most`."""
        values = tuple(dict.fromkeys(value for field, value in self._pairs if field == name and value))
        if len(values) > most:
            raise BadInput([FieldProblem(name, f"must be {most:,} at most")])
        return values

    def epoch(self) -> int | None:
        """Which state of an account the form was made for; None where it does not say. Raises BadInput."""
        value = self.text("epoch")
        if value and not (value.isascii() and value.isdigit() and len(value) <= 18):
            raise BadInput([FieldProblem("epoch", "must be a whole number")])
        return int(value) if value else None

    def ticked(self, name: str, choices: type[Choice]) -> tuple[Choice, ...]:
        """What was ticked, each once. Raises BadInput for what is no choice."""
        values = dict.fromkeys(value for field, value in self._pairs if field == name and value)
        try:
            return tuple(choices(value) for value in values)
        except ValueError as error:
            raise BadInput([FieldProblem(name, "holds what is no choice")]) from error


async def sent_by(request: ConsoleRequest) -> Sent:
    """What the form of this request sent; files are left out."""
    form = await request.form()
    return Sent([(name, value) for name, value in form.multi_items() if isinstance(value, str)])


def by_field(error: BadInput) -> dict[str, str]:
    """The problems as forms show them: a sentence for each field."""
    return {problem.field: f"{problem.message[:1].upper()}{problem.message[1:]}." for problem in error.problems}
