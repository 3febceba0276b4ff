"""What the address of a list of jobs asks for, and the form that changes it."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from leaseforge import limits
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.filters import Filter
from leaseforge.jobs import JobState
from leaseforge_console.views.snapshot import Snapshot

WITHIN = ((0, "any time"), (900, "15 minutes"), (3_600, "1 hour"), (86_400, "24 hours"), (604_800, "7 days"))
"""Choices of the time filter, in seconds."""

MAX_CHOICES = 100
"""More queues than this are typed, not chosen: the list alone would be larger than the page."""

_PLACE = re.compile(r"\d(:-?\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,3})?:([0-9a-f]{2}){0,56})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is looked for; '' and 0 leave a thing open.

    `within`: seconds back from now. `place`: where the page starts. `operation`: which one acted on the jobs last.
    Raises BadInput for what no page of the console links to.
    """

    queue: str = ""
    state: str = ""
    group: str = ""
    type: str = ""
    tag: str = ""
    text: str = ""
    operation: str = ""
    within: int = 0
    place: str = ""

    def __post_init__(self) -> None:
        problems = []
        if self.state and self.state not in tuple(JobState):
            problems.append(FieldProblem("state", f"must be one of {', '.join(JobState)}"))
        if self.within and self.within not in dict(WITHIN):
            problems.append(FieldProblem("within", f"must be one of {', '.join(str(each) for each, _ in WITHIN)}"))
        if self.place and not _PLACE.fullmatch(self.place):
            problems.append(FieldProblem("place", "is not one of this list"))
        if self.group and not self.queue:
            problems.append(FieldProblem("queue", "must be named: groups are of one queue"))
        if problems:
            raise BadInput(problems)

    @property
    def is_narrowed(self) -> bool:
        """Whether the form's fields leave anything out."""
        return bool(self.queue or self.looks)

    @property
    def looks(self) -> bool:
        """Whether jobs have to be looked at one by one, because no set knows the answer."""
        return bool(self.type or self.tag or self.text or self.operation or self.within)

    def filter(self, states: tuple[JobState, ...], now: datetime, *, by_end: bool = False) -> Filter:
        """As the engine takes it; `within` is about when jobs were created, or about their end."""
        since = round(now.timestamp() * 1000) - self.within * 1000 if self.within else None
        return Filter(
            queue=self.queue or None,
            states=(JobState(self.state),) if self.state else states,
            group=self.group or None,
            type=self.type or None,
            tag=self.tag or None,
            error=self.text or None,
            operation=self.operation or None,
            created_from=None if by_end else since,
            finished_from=since if by_end else None,
        )

    def query(self) -> str:
        """As part of an address, with its `?`; '' if nothing is asked for."""
        given = {name: value for name, value in asdict(self).items() if value}
        return f"?{urlencode(given)}" if given else ""

    def standing(self) -> "Asked":
        """Itself, for a live page. Raises BadInput for a search: that reads thousands of jobs each time."""
        if self.looks:
            raise BadInput([FieldProblem("type, tag, text, operation, within", "are searched for once, not watched")])
        return self

    def at(self, place: str) -> "Asked":
        """The same, from another place on."""
        return replace(self, place=place)


@dataclass(frozen=True, slots=True)
class FilterForm:
    """The form. `queues` are the choices, None where the name is typed. `hidden` goes along unseen.

    `fields` names what the form offers besides the queue; `clear` leads to the list with nothing filled in.
    """

    action: str
    asked: Asked
    queues: tuple[str, ...] | None
    fields: tuple[str, ...]
    time_label: str
    times: tuple[tuple[int, str], ...]
    hidden: Mapping[str, str]
    clear: str
    can_clear: bool
    max_type: int = limits.MAX_TYPE_BYTES
    max_tag: int = limits.MAX_TAG_BYTES
    max_text: int = limits.MAX_KEY_BYTES


def filter_form(
    action: str, asked: Asked, snapshot: Snapshot, *, fields: tuple[str, ...], time_label: str = "Created within"
) -> FilterForm:
    """The form of a list; state and group stay what they are."""
    names = tuple(queue.name for queue in snapshot.queues)
    hidden = {name: value for name in ("state", "group", "operation") if (value := getattr(asked, name))}
    stays = Asked(queue=asked.queue if asked.group else "", state=asked.state, group=asked.group)
    return FilterForm(
        action=action,
        asked=asked,
        queues=names if len(names) <= MAX_CHOICES else None,
        fields=fields,
        time_label=time_label,
        times=WITHIN,
        hidden=hidden,
        clear=action + stays.query(),
        can_clear=asked.looks or asked.queue != stays.queue,
    )
