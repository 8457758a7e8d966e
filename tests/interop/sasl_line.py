"""A connection to a listener with SASL, which remembers what it was told, to hold two brokers beside each other."""

from __future__ import annotations

import base64
import socket
import struct
from typing import Any

import protocol
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.errors import ProtocolError
from protocol.headers import read_response, request_frame

SIZE = struct.Struct(">i")
CLOSED = "closed"


class Line:
    """A connection; what comes back is kept in ``heard``."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self.socket = socket.create_connection((host, int(port)))
        self.heard: list[Any] = []

    def bytes(self, data: bytes) -> bytes | None:
        """Send bytes; gives the frame that comes back, None where the connection ends."""
        try:
            self.socket.sendall(data)
            size = self._read(4)
            frame = None if size is None else self._read(SIZE.unpack(size)[0])
        except ConnectionError:
            frame = None
        if frame is None:
            self.heard.append(CLOSED)
        return frame

    def unread(self, data: bytes) -> None:
        """Send bytes; the answer is kept as it is."""
        frame = self.bytes(data)
        if frame is not None:
            self.heard.append(frame.hex())

    def ask(self, request: Any, version: int) -> Any:
        """Send a request; gives its answer, None where there is none."""
        frame = self.bytes(request_frame(request, version, correlation_id=7, client_id="beside"))
        if frame is None:
            return None
        try:
            _, answer = read_response(frame, type(request).api_key, version)
        except ProtocolError:
            _, answer = read_response(frame, type(request).api_key, 0)  # of ApiVersions, to a version not known
            version = 0
        self.heard.append(plain(protocol.to_json(answer, version)))
        return answer

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> None:
        self.ask(SaslHandshakeRequest(mechanism=mechanism), version)

    def token(self, token: bytes, version: int = 1) -> bytes:
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=token), version)
        return b"" if answer is None else bytes(answer.auth_bytes)

    def bare(self, token: bytes) -> bytes:
        frame = self.bytes(SIZE.pack(len(token)) + token)
        if frame is not None:
            self.heard.append(("bare", token_of(frame)))
        return frame or b""

    def close(self) -> None:
        self.socket.close()

    def is_over(self) -> None:
        """Note whether the connection has ended."""
        self.ask(ApiVersionsRequest(), 0)

    def _read(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                return None
            data += more
        return data


def plain(answer: Any) -> Any:
    """An answer without addresses, versions, chance and time."""
    if "brokers" in answer:
        return ["Metadata"]
    if "apiKeys" in answer:
        return ["ApiVersions", answer["errorCode"], len(answer["apiKeys"]) > 0]
    if answer.get("authBytes"):
        return {**answer, "authBytes": token_of(base64.b64decode(answer["authBytes"]))}
    return answer


def token_of(token: bytes) -> Any:
    """A token of the broker, without its nonce and its proof."""
    return [part[:2] if part[:2] in (b"r=", b"v=") else part for part in token.split(b",")]
