"""What stands above every list of jobs: the views somebody saved of it, and the ways to take it along as a file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl

from leaseforge.errors import BadInput, FieldProblem
from leaseforge.filters import ALL_STATES, Filter
from leaseforge.jobs import JobState
from leaseforge_auth.saved_views import MAX_NAME, MOST_OF_ONE_ACCOUNT, SavedView
from leaseforge_console.filters import plural
from leaseforge_console.views.asked import WITHIN, Asked
from leaseforge_console.views.bulk_words import DELAYED
from leaseforge_console.views.chosen import JobList, fields

PATHS: Mapping[str, str] = {JobList.JOBS: "/jobs", JobList.DELAYED: "/delayed", JobList.DEAD: "/dead/jobs"}
_WORDS = {"text": "error contains"}
NAMES: Mapping[str, str] = {JobList.JOBS: "Jobs", JobList.DELAYED: "Delayed", JobList.DEAD: "Dead jobs"}


@dataclass(frozen=True, slots=True)
class Chip:
    """A saved view above its list."""

    name: str
    path: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Export:
    """Where the list's files are; `whole` ones hold payloads, too, for those who may read them."""

    csv: str
    jsonl: str
    whole_csv: str
    whole_jsonl: str


@dataclass(frozen=True, slots=True)
class ListTools:
    """The bar. `hidden` is the filter to be saved, None where there is none or it is saved already."""

    chips: tuple[Chip, ...]
    hidden: Mapping[str, str] | None
    export: Export
    max_name: int = MAX_NAME


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A saved view on the page of all of them; `asks` is its filter in words."""

    id: str
    name: str
    list: str
    path: str
    asks: str


@dataclass(frozen=True, slots=True)
class Views:
    """The page of all saved views of somebody."""

    summary: str
    rows: tuple[ViewRow, ...]
    max_name: int = MAX_NAME


def wanted(list_: JobList, asked: Asked, now: datetime) -> Filter:
    """The jobs a list shows, as the engine is asked for them. Raises BadInput for a state that is not of the list."""
    match list_:
        case JobList.JOBS:
            return asked.filter((JobState.DEAD,) if asked.group else ALL_STATES, now)
        case JobList.DELAYED:
            if asked.group or (asked.state and asked.state not in DELAYED):
                raise BadInput([FieldProblem("state", f"must be one of {', '.join(DELAYED)}")])
            return asked.filter(DELAYED, now)
        case JobList.DEAD:
            if asked.state and asked.state != JobState.DEAD:
                raise BadInput([FieldProblem("state", f"must be {JobState.DEAD}, or left out")])
            return asked.filter((JobState.DEAD,), now, by_end=True)


def tools(list_: JobList, asked: Asked, saved: Iterable[SavedView]) -> ListTools:
    """The bar of a list."""
    here = asked.at("").query()
    chips = tuple(_chip(view, here) for view in saved if view.list == list_)
    is_saved = not here or any(chip.is_current for chip in chips)
    return ListTools(chips, None if is_saved else fields(list_, asked), _export(list_, here))


def views(saved: Iterable[SavedView]) -> Views:
    """The page of all saved views."""
    rows = tuple(
        ViewRow(view.id, view.name, NAMES[view.list], _path(view), _in_words(view.query))
        for view in saved
        if view.list in PATHS
    )
    return Views(f"{plural(len(rows), 'view')} of at most {MOST_OF_ONE_ACCOUNT}, seen by nobody but you", rows)


def _path(view: SavedView) -> str:
    return PATHS[view.list] + (f"?{view.query}" if view.query else "")


def _chip(view: SavedView, here: str) -> Chip:
    return Chip(view.name, _path(view), f"?{view.query}" == here)


def _export(list_: JobList, here: str) -> Export:
    whole = f"{here}{'&' if here else '?'}payloads=1"
    csv, jsonl = f"/export/{list_.value}.csv", f"/export/{list_.value}.jsonl"
    return Export(csv + here, jsonl + here, csv + whole, jsonl + whole)


def _in_words(query: str) -> str:
    times = {str(seconds): word for seconds, word in WITHIN}
    given = [(name, times.get(value, value) if name == "within" else value) for name, value in parse_qsl(query)]
    return " · ".join(f"{_WORDS.get(name, name)} {value}" for name, value in given)
