"""Connections of the server: as many as the process may have files open, none without a request for long.

A visitor who opens hundreds of connections and says nothing, or a byte now and then, must not keep others out.
"""

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 20.0
"""Seconds in which a request must be complete, and after which a connection without one is closed."""

MOST = 400
"""Connections open at a time; with one more, that which has longest asked for nothing is closed. Many systems allow a
process 1,024 open files.
"""


def bounded(most: int = MOST, patience: float = PATIENCE) -> "type[H11Protocol]":
    """Return uvicorn's protocol with limits.

    Args:
        most: see MOST.
        patience: see PATIENCE.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    connections: dict[Any, None] = {}  # the one that has longest asked for nothing first

    class Bounded(H11Protocol):
        """A connection, watched until it is closed."""

        answered: Any = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(connections) >= most and (idle := next((each for each in connections if not each.works), None)):
                idle.transport.abort()
                connections.pop(idle, None)
            connections[self] = None
            self.loop.call_later(patience, self.look)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.pop(self, None)
            super().connection_lost(exc)

        @property
        def works(self) -> bool:
            """Whether a request is being answered."""
            return self.cycle is not None and not self.cycle.response_complete

        def look(self) -> None:
            """Close the connection if it has asked for nothing since the last look."""
            if self not in connections:
                return
            if not self.works and self.cycle is self.answered:
                self.transport.abort()
                return
            if self.cycle is not self.answered:
                connections[self] = connections.pop(self)  # the latest
            self.answered = self.cycle
            self.loop.call_later(patience, self.look)

    return Bounded
