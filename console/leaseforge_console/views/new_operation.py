"""What links to a bulk operation lead to: what would be counted, before anything is."""

from collections.abc import Mapping
from dataclasses import dataclass

from leaseforge.bulk_records import BulkOrder
from leaseforge_console.views.bulk_words import VERBS, noun, scope
from leaseforge_console.views.chosen import Chosen, fields


@dataclass(frozen=True, slots=True)
class NewOperation:
    """The page. `fields` go along with the form; `back` is the list the jobs are of."""

    title: str
    action: str
    scope: tuple[tuple[str, str], ...]
    fields: Mapping[str, str]
    back: str


def build(chosen: Chosen, order: BulkOrder) -> NewOperation:
    """What an order would be about."""
    path = "/dead/jobs" if chosen.list == "dead" else f"/{chosen.list}"
    return NewOperation(
        title=f"{VERBS[order.action].now} {noun(order)}s",
        action=order.action.value,
        scope=scope(order),
        fields=fields(chosen.list, chosen.asked),
        back=path + chosen.asked.query(),
    )
