"""A small blocking client over our own codec: one connection, and the versions that its broker speaks.

Versions are negotiated as Kafka's clients do: ApiVersions in our newest version first; a broker that does not know it
answers in version 0 and says what it knows (since 2.4) or nothing (0.10 to 2.3); one before 0.10 hangs up, and is then
asked what 0.9 speaks. Plaintext only: TLS and SASL are out of scope, and recognised so that the error says so.
Source: KIP-35, KIP-511.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any, Self

import protocol
from kafka_rack.cli import CommandError
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.error_codes import ErrorCode, error_name
from protocol.framing import MAX_FRAME_BYTES
from protocol.headers import API_VERSIONS
from protocol.registry import APIS

CLIENT_ID = "kafka-rack"
DEFAULT_TIMEOUT_S = 10.0
SPOKEN_BY_0_9 = {0: (0, 1), 1: (0, 1), 2: (0, 0), 3: (0, 0), 10: (0, 0)}
"""What a broker that knows no ApiVersions serves of what we might ask: Produce, Fetch, ListOffsets, Metadata, ..."""
HTTP = b"HTTP"
TLS_ALERT, TLS_HANDSHAKE = 0x15, 0x16
"""The first byte of an answer that is TLS, where Kafka's is the high byte of a length."""


class Unreachable(CommandError):
    """No connection to an address, or it ended before the answer came."""


class HungUp(Unreachable):
    """The broker closed the connection without an answer."""


class Connection:
    """One connection to one broker; ``ask`` sends a request and waits for its answer.

    Args:
        address: host and port.
        timeout_s: for the connection, and again for each answer.
    """

    def __init__(self, address: tuple[str, int], timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.address, self.timeout_s = address, timeout_s
        self.name = address_text(*address)
        self._correlation_id = 0
        self._socket: socket.socket | None = None
        self.versions: Mapping[int, tuple[int, int]] = {}
        """API key -> lowest and highest version that the broker serves."""

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Connect and learn the broker's versions.

        Raises: Unreachable: nobody listens. CommandError: who listens does not speak Kafka.
        """
        self._connect()
        try:
            self.versions = self._negotiated()
        except HungUp:
            self.close()
            self._connect()
            self.versions = SPOKEN_BY_0_9
        except CommandError:
            self.close()
            raise

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def version_for(self, message_class: Any, *, least: int = 0, most: int | None = None) -> int | None:
        """The newest version of an API that both sides speak, within these bounds; None where there is none."""
        if message_class.api_key not in self.versions:
            return None
        lowest, highest = self.versions[message_class.api_key]
        ours = message_class.valid_versions
        upper = min(highest, ours.highest if most is None else min(ours.highest, most))
        lower = max(lowest, ours.lowest, least)
        return upper if lower <= upper else None

    def ask(self, request: Any, version: int) -> Any:
        """Send a request and read its answer.

        Raises: Unreachable, CommandError: one line that names the broker and the API.
        """
        name = APIS[type(request).api_key][1]
        self._correlation_id += 1
        frame = protocol.request_frame(request, version, correlation_id=self._correlation_id, client_id=CLIENT_ID)
        deadline = time.monotonic() + self.timeout_s
        try:
            self._send(frame, deadline)
            size = self._size(name, self._read(4, deadline))
            answer = self._read(size, deadline)
        except TimeoutError:
            raise Unreachable(f"{self.name}: no answer to {name} within {self.timeout_s:g} s") from None
        except EOFError:
            raise HungUp(
                f"{self.name}: closed the connection at {name}; is it a listener for plaintext, without TLS and SASL?"
            ) from None
        except OSError as error:
            raise HungUp(f"{self.name}: the connection broke at {name}: {reason_of(error)}") from None
        try:
            header, response = protocol.read_response(answer, type(request).api_key, version)
        except protocol.ProtocolError as error:
            raise CommandError(f"{self.name}: answered {name} with what is none: {error}") from error
        if header.correlation_id != self._correlation_id:
            raise CommandError(
                f"{self.name}: answered {name} with correlation id {header.correlation_id}, "
                f"but {self._correlation_id} is due"
            )
        return response

    def _connect(self) -> None:
        try:
            self._socket = socket.create_connection(self.address, timeout=self.timeout_s)
        except TimeoutError:
            raise Unreachable(f"{self.name}: cannot be reached within {self.timeout_s:g} s") from None
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"{self.name}: cannot be reached: {reason_of(error)}") from None

    def _negotiated(self) -> dict[int, tuple[int, int]]:
        """Ask for the versions, in versions that get older until the broker knows one."""
        version: int = protocol.message_class(API_VERSIONS, "request").valid_versions.highest
        while True:
            request = ApiVersionsRequest(client_software_name=CLIENT_ID, client_software_version="0")
            answer = self.ask(request, version)
            known = {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}
            if answer.error_code == ErrorCode.NONE:
                return known
            if answer.error_code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
                raise CommandError(f"{self.name}: ApiVersions failed: {error_name(answer.error_code)}")
            version = min(version - 1, known.get(API_VERSIONS, (0, 0))[1])

    def _send(self, data: bytes, deadline: float) -> None:
        self._open_socket(deadline).sendall(data)

    def _read(self, size: int, deadline: float) -> bytes:
        found = bytearray()
        while len(found) < size:
            piece = self._open_socket(deadline).recv(min(size - len(found), 1 << 20))
            if not piece:
                raise EOFError
            found += piece
        return bytes(found)

    def _open_socket(self, deadline: float) -> socket.socket:
        """The socket, with what is left of the time. Raises: TimeoutError: nothing is."""
        assert self._socket is not None, "opened before it is used"
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
        return self._socket

    def _size(self, name: str, head: bytes) -> int:
        """The length of an answer, or an error that says what is spoken instead of Kafka."""
        size = int.from_bytes(head, "big", signed=True)
        if head == HTTP:
            raise CommandError(f"{self.name}: speaks HTTP, not Kafka")
        if head[0] in (TLS_ALERT, TLS_HANDSHAKE) and head[1] == 3:
            raise CommandError(f"{self.name}: speaks TLS; give the address of a listener for plaintext")
        if not 0 <= size <= MAX_FRAME_BYTES:
            raise CommandError(f"{self.name}: answered {name} with a length of {size} bytes; it does not speak Kafka")
        return size


def address_text(host: str, port: int) -> str:
    """An address as people write it.

    >>> address_text("::1", 9092)
    '[::1]:9092'
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reason_of(error: BaseException) -> str:
    """Why the system refused, in its own words and without its number."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
