"""The end of listening: what is being accepted meanwhile reaches its protocol, which breaks it off."""

from __future__ import annotations

import asyncio


def end_listening(server: asyncio.Server) -> None:
    """Have a server accept nothing more; its connections go on.

    One that the system had accepted before comes to its protocol afterwards, as always on uvloop. On asyncio's own loop
    it would fail at a closed server and stay open, with nobody to serve it (Python issue 109564). ``wait_closed`` says
    nothing any more.
    """
    server.close()
    if isinstance(server, asyncio.base_events.Server):
        vars(server)["_sockets"] = []
