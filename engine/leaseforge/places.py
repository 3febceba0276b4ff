"""Where a value can be found again by another process: a module's name and an attribute of it."""

import importlib
import sys
from collections.abc import Iterable
from types import ModuleType

import msgspec

_MAIN = "__main__"


class Place(msgspec.Struct, frozen=True):
    """An importable module and an attribute of it, which may be a dotted path."""

    module: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.module}:{self.attribute}"


def place_of(value: object, *, modules: Iterable[str] = (), attribute: str = "") -> Place | None:
    """A place that holds this very object, or None. Looks into `modules` first, there at `attribute` first.

    Only modules that are imported already are looked into; the started program itself is no place, because in another
    process another program is `__main__`.
    """
    hinted = [module for module in modules if module != _MAIN]
    for module in hinted:
        if attribute and _attribute(sys.modules.get(module), attribute) is value:
            return Place(module, attribute)
    for module in (*hinted, *list(sys.modules)):
        loaded = sys.modules.get(module)
        if module == _MAIN or not isinstance(loaded, ModuleType):
            continue
        for name, held in list(vars(loaded).items()):
            if held is value:
                return Place(module, name)
    return None


def at(place: Place) -> object:
    """What is there, its module imported if need be. Raises AttributeError, and whatever the import raises."""
    found: object = importlib.import_module(place.module)
    for part in place.attribute.split("."):
        found = getattr(found, part)
    return found


def _attribute(found: object, path: str) -> object:
    for part in path.split("."):
        found = getattr(found, part, None)
    return found
