"""The end of listening: connections that are being accepted reach their protocol, which aborts them."""

from __future__ import annotations

import asyncio


def end_listening(server: asyncio.Server) -> None:
    """Stop a server's listening; its connections continue.

    One that the system had accepted before comes to its protocol afterwards, as always on uvloop. On asyncio's own loop
    it would fail at a closed server and stay open, without a protocol (Python issue 109564). ``wait_closed`` says
    nothing any more.
    """
    server.close()
    if isinstance(server, asyncio.base_events.Server):
        vars(server)["_sockets"] = []
