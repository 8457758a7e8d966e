"""Long answers: sent in pieces, between which brokers serve their clients, and bounded while nobody reads them."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from mockbroker.adapters.control.problems import ControlProblem

PIECE_BYTES = 1 << 16
MAX_HELD_BYTES = 256 << 20
"""Of all answers that are being sent in pieces."""


class LongAnswers:
    """Sends the answers of one server; ``held_bytes`` is what there is of long ones that are on their way."""

    def __init__(self) -> None:
        self.held_bytes = 0

    async def send(self, response: Response, scope: Scope, receive: Receive, send: Send) -> None:
        """Send an answer, in pieces if long, as fast as it is read. Raises ControlProblem: 503, too much is unread."""
        size = 0 if isinstance(response, StreamingResponse) else len(response.body)
        if size <= PIECE_BYTES or scope["method"] == "HEAD":
            await response(scope, receive, send)
            return
        if self.held_bytes and self.held_bytes + size > MAX_HELD_BYTES:
            raise ControlProblem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"answers of {self.held_bytes} bytes wait to be read, and this one of {size} bytes has no room",
                headers={"retry-after": "1"},
            )
        self.held_bytes += size
        try:
            await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
            with memoryview(response.body) as body:
                for start in range(0, size, PIECE_BYTES):
                    piece = bytes(body[start : start + PIECE_BYTES])
                    is_last = start + PIECE_BYTES >= size
                    await send({"type": "http.response.body", "body": piece, "more_body": not is_last})
                    await asyncio.sleep(0)
        finally:
            self.held_bytes -= size
        if response.background is not None:
            await response.background()
