"""Acting on many jobs of a list: what the bar above it offers, and what its form asks for."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from leaseforge.bulk_records import BulkAction, BulkFilter, BulkGroup, BulkOrder
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.jobs import JobState
from leaseforge_auth.bulk import permissions_for
from leaseforge_console.filters import plural
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.bulk_words import DELAYED, VERBS

_ALL = (BulkAction.RETRY, BulkAction.REQUEUE, BulkAction.CANCEL, BulkAction.DELETE)
_BY_STATE: Mapping[str, tuple[BulkAction, ...]] = {
    "": _ALL,
    JobState.READY: (BulkAction.CANCEL, BulkAction.DELETE),
    JobState.RUNNING: (BulkAction.CANCEL,),
    JobState.SCHEDULED: (BulkAction.PROMOTE, BulkAction.CANCEL, BulkAction.DELETE),
    JobState.RETRYING: (BulkAction.PROMOTE, BulkAction.CANCEL, BulkAction.DELETE),
    JobState.COMPLETED: (BulkAction.REQUEUE, BulkAction.DELETE),
    JobState.CANCELLED: (BulkAction.REQUEUE, BulkAction.DELETE),
    JobState.DEAD: (BulkAction.RETRY, BulkAction.DELETE),
}
_DESTROYS = (BulkAction.DELETE, BulkAction.CANCEL)


class JobList(StrEnum):
    """The list the jobs were chosen on: it says which states and which time its filter is about."""

    JOBS = "jobs"
    DELAYED = "delayed"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that can be done to jobs of the list by those who hold all that it `needs`."""

    action: BulkAction
    word: str
    destroys: bool
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """The bar: what can be done to what is ticked, or to `all_words`, '' where all would be too much.

    `hidden` is the list's filter, which goes along with the form.
    """

    choices: tuple[Choice, ...]
    hidden: Mapping[str, str]
    all_words: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """Jobs that were chosen: those of `ids` or of `groups`, or if there are none all that the list's filter finds."""

    action: BulkAction
    list: JobList
    asked: Asked
    ids: tuple[str, ...] = ()
    groups: tuple[BulkGroup, ...] = ()

    def order(self, user: str, now: datetime, *, about: str = "", reason: str = "") -> BulkOrder:
        """As the engine takes it. Raises BadInput where the list has no filter that says which jobs."""
        asked = self.asked
        state = JobState(asked.state) if asked.state else None
        since = now - timedelta(seconds=asked.within) if asked.within else None
        if self.list is JobList.DEAD:
            state = JobState.DEAD
        wanted = BulkFilter(
            queue=asked.queue or None,
            state=state,
            states=DELAYED if self.list is JobList.DELAYED and state is None else None,
            group=asked.group or None,
            type=asked.type or None,
            tag=asked.tag or None,
            error=asked.text or None,
            operation=asked.operation or None,
            created_since=None if self.list is JobList.DEAD else since,
            finished_since=since if self.list is JobList.DEAD else None,
        )
        if self.ids:
            # Where in the list they stood is told by the jobs themselves; its filter could only lose some.
            wanted = BulkFilter(queue=asked.queue or None, state=wanted.state, states=wanted.states, ids=self.ids)
        elif self.groups:
            wanted = BulkFilter(queue=asked.queue or None, state=JobState.DEAD, groups=self.groups)
        elif wanted == BulkFilter():
            raise BadInput([FieldProblem("all", "needs a queue, a state or another filter that says which jobs")])
        return BulkOrder(self.action, wanted, created_by=user, about=about, reason=reason)


def selection(list_: JobList, asked: Asked, total: int | None) -> Selection:
    """The bar of a list; `total` is how many jobs its filter finds, None if only a search could tell."""
    kinds = _BY_STATE[JobState.DEAD if list_ is JobList.DEAD else asked.state]
    if list_ is JobList.DELAYED and not asked.state:
        kinds = _BY_STATE[JobState.SCHEDULED]
    may_all = list_ is not JobList.JOBS or asked.is_narrowed or bool(asked.state)
    return Selection(
        tuple(_choice(action, list_, asked) for action in kinds),
        fields(list_, asked),
        _all_words(total) if may_all else "",
    )


def fields(list_: JobList, asked: Asked) -> dict[str, str]:
    """A list's filter as hidden fields, without the page it is at."""
    given = {name: str(value) for name, value in asdict(asked.at("")).items() if value}
    return {"list": list_.value, **given}


def choices(list_: JobList, asked: Asked, *actions: BulkAction) -> tuple[Choice, ...]:
    """Some actions on all that a list's filter finds, for buttons beside what it is about."""
    return tuple(_choice(action, list_, asked) for action in actions)


def group_selection(queue: str) -> Selection:
    """The bar above the groups of dead jobs: it acts on those that are ticked."""
    asked = Asked(queue=queue)
    kinds = choices(JobList.DEAD, asked, BulkAction.RETRY, BulkAction.DELETE)
    return Selection(kinds, fields(JobList.DEAD, asked), "")


def _choice(action: BulkAction, list_: JobList, asked: Asked) -> Choice:
    try:
        order = Chosen(action, list_, asked).order("", _ANY_TIME)
    except BadInput:
        order = BulkOrder(action, BulkFilter(), created_by="")
    word = "Run now" if action is BulkAction.PROMOTE else VERBS[action].now
    return Choice(action, word, action in _DESTROYS, tuple(sorted(permissions_for(order))))


def _all_words(total: int | None) -> str:
    return "all that match" if total is None else f"all {plural(total, 'job')} that match" if total != 1 else "the one"


_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
