"""The only door to Redis: opens connections, carries out calls and plans, checks a server before it is used."""

from leaseforge.store.asynchronous import Store, connect
from leaseforge.store.synchronous import SyncStore, connect_sync

__all__ = ["Store", "SyncStore", "connect", "connect_sync"]
