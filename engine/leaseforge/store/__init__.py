"""The only door to Redis: opens connections, carries out calls and plans, checks a server before it is used."""

from typing import TYPE_CHECKING

from leaseforge.on_demand import attributes, names_of

if TYPE_CHECKING:
    from leaseforge.store.asynchronous import Store, connect
    from leaseforge.store.synchronous import SyncStore, connect_sync

__all__ = ["Store", "SyncStore", "connect", "connect_sync"]

_HOMES = {"Store": "asynchronous", "SyncStore": "synchronous", "connect": "asynchronous", "connect_sync": "synchronous"}
if not TYPE_CHECKING:  # or type checkers would believe in any name
    __getattr__ = attributes(__name__, _HOMES)
    __dir__ = names_of(__name__, _HOMES)
