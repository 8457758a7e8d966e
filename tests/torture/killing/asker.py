"""One connection to one broker, over which one request follows the other."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any, Self

import protocol
from tests.answers.story import key_of, message_of

SIZE = struct.Struct(">i")
ANSWER_S = 60.0


class Asker:
    """A connection to a broker at ``HOST:PORT``."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=ANSWER_S)
        self._answers = self._socket.makefile("rb")
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._socket.close()

    def ask(self, api: str, version: int, fields: Mapping[str, Any]) -> Any:
        """The answer as a message; the request is in Kafka's JSON form."""
        self._correlation_id += 1
        request = message_of(f"{api}Request", version, fields)
        self._socket.sendall(
            protocol.request_frame(request, version, correlation_id=self._correlation_id, client_id="asker")
        )
        (size,) = SIZE.unpack(self._answers.read(SIZE.size))
        return protocol.read_response(self._answers.read(size), key_of(api), version)[1]
