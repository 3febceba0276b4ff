"""Packages that import a module when something of it is used: a command asked for help needs no client of Redis."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[], list[str]]:
    """The `__dir__` of a package: what was used and what can be."""
    return lambda: sorted({*vars(sys.modules[package]), *homes})


def attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package. `homes` says which of its modules, by its name in there, defines each name."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)  # asked for once only
        return value

    return find
