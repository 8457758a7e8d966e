"""A client over a real socket that says exactly what a test wants said."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import Any, Self

import protocol
from tests.progress import while_it_works


class WireClient:
    """One connection; ``ask`` sends a request and reads its answer."""

    def __init__(self, address: str, *, client_id: str | None = "test", tls: ssl.SSLContext | None = None) -> None:
        self.host, port = address.rsplit(":", 1)
        self._tls = tls
        self.port, self.client_id = int(port), client_id
        self._correlation_id = 0

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port, ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.close()

    def send(self, request: Any, version: int) -> int:
        """Write a request; gives its correlation id."""
        self._correlation_id += 1
        self.writer.write(
            protocol.request_frame(request, version, correlation_id=self._correlation_id, client_id=self.client_id)
        )
        return self._correlation_id

    async def answer(self, api_key: int, version: int) -> Any:
        """Read the next answer, as that of this API and version. Raises EOFError where the broker hung up."""
        size = int.from_bytes(await self._read(4), "big")
        header, response = protocol.read_response(await self._read(size), api_key, version)
        assert header.correlation_id <= self._correlation_id
        return response

    async def ask(self, request: Any, version: int) -> Any:
        self.send(request, version)
        return await self.answer(type(request).api_key, version)

    async def is_hung_up(self) -> bool:
        """Whether the broker ends the connection without another byte."""
        async with while_it_works("the end of the connection"):
            try:
                return await self.reader.read(1) == b""
            except ConnectionError:
                return True

    async def _read(self, size: int) -> bytes:
        async with while_it_works("an answer"):
            return await self.reader.readexactly(size)
