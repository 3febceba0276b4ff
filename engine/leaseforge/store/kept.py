"""A few connections kept in hand: borrowing one from redis-py's pool and giving it back takes longer than a command."""

from typing import Any

from leaseforge.calls import Arg
from leaseforge.store.clients import Client

MOST_KEPT = 8
"""Few commands are under way at a time; beyond these, connections come from the pool."""


class KeptConnections:
    """Sends single commands for an asyncio client of one server.

    What is kept counts as in use in the client's pool, which closes it with the client. A connection that broke, or
    that a cancelled caller left in the middle of a reply, was closed by redis-py, and is opened anew when it is used.
    """

    def __init__(self, client: Client) -> None:
        self._pool = client.connection_pool
        self._idle: list[Any] = []

    async def execute(self, *words: Arg) -> Any:
        """Sends one command and answers its reply. Raises what redis-py raises, and repeats nothing."""
        connection = self._idle.pop() if self._idle else await self._pool.get_connection()
        try:
            if connection.is_connected and (connection.should_reconnect() or await connection.can_read()):
                await connection.disconnect()  # the server has closed it, or what it says answers no question of ours
            if not connection.is_connected:
                await connection.connect()
            await connection.send_packed_command(connection.pack_command(*words), check_health=False)
            return await connection.read_response()
        finally:
            if len(self._idle) < MOST_KEPT:
                self._idle.append(connection)
            else:
                await self._pool.release(connection)
