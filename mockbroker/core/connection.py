"""One client's connection: its bytes in, calls to the engine out, the replies' bytes back.

One request at a time, answered in order, as in Kafka: while a call waits, the frames behind it wait too. What is not a
request that the cluster serves ends this connection, with one logged line, and no other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from struct import Struct
from typing import Any

from kafka_rack import diskless
from mockbroker.call import Call, Client
from mockbroker.core.engine import Engine, Parked, top_level_error
from mockbroker.core.journal import Entry, Journal
from mockbroker.core.response_cache import CACHED_API
from mockbroker.handlers import MODULE_OF_API
from mockbroker.state.brokers.broker import DEFAULT_LISTENER, Broker
from protocol.codec import codec
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, response_header_version
from protocol.registry import message_class

log = logging.getLogger("mockbroker")

API_VERSIONS_KEY = 18
REQUEST_START = Struct(">hhi")  # api key, version, correlation id
RESPONSE_START = Struct(">ii")  # size, correlation id
NO_TAGS = b"\0"  # what a flexible response's header has after the correlation id
MIN_REQUEST_BYTES = 8
MAX_WAITING_BYTES = 1 << 20  # of frames behind a call that waits, before reading from the client stops
LARGE = 1 << 16  # bytes from which on a frame's pieces are put together only once, and an answer is written by itself


class Connection:
    """Frames in, frames out; no socket.

    ``output`` holds what is to be sent; ``on_output()`` is called when something came that no ``receive`` asked for.
    ``closed`` says why the connection is to end, None while it lives.
    """

    __slots__ = (
        "address",
        "broker",
        "closed",
        "engine",
        "journal",
        "listener",
        "listener_rack",
        "now_ms",
        "number",
        "on_output",
        "output",
        "_buffer",
        "_client",
        "_client_rack",
        "_missing",
        "_most_bytes",
        "_parked",
        "_pieces",
        "_pumping",
        "_served",
        "_waiting",
    )

    def __init__(
        self,
        engine: Engine,
        broker: Broker,
        address: str,
        *,
        listener: str = DEFAULT_LISTENER,
        listener_rack: str | None = None,
        number: int = 0,
        journal: Journal | None = None,
        on_output: Callable[[], None] = lambda: None,
    ) -> None:
        self.engine, self.broker, self.address, self.number = engine, broker, address, number
        self.listener, self.listener_rack = listener, listener_rack
        self.journal, self.on_output = journal, on_output
        self.output: list[bytes] = []
        self.closed: str | None = None
        self.now_ms = 0
        self._buffer = bytearray()
        self._client: Client | None = None
        self._client_rack: str | None = None  # as its client.id or its listener say
        self._most_bytes: int = engine.cluster.settings["socket.request.max.bytes"]
        self._missing = 0  # bytes of a large frame whose pieces are being gathered
        self._parked: Parked | None = None
        self._pieces: list[bytes] = []
        self._pumping = False
        self._served = engine.cluster.served_by(broker.id)
        self._waiting = False

    def receive(self, data: bytes, now_ms: int) -> None:
        """Take bytes from the client, in any cut; answers that are there at once are in ``output`` afterwards."""
        if self.closed is not None:
            return
        self.now_ms = now_ms
        if self._missing:
            data = self._gather(data)
        if data:
            self._buffer += data
            if not self._waiting:
                self._pump()

    def stopped(self) -> None:
        """The client or the broker has gone: a call that waits is dropped, and nothing more is read or answered."""
        if self.closed is None:
            self.closed = "one side has gone"
        if self._parked is not None:
            self.engine.drop(self._parked)
            self._parked = None

    @property
    def is_full(self) -> bool:
        """Whether enough requests wait behind the present one, so that no more should be read for now."""
        return self._waiting and len(self._buffer) > MAX_WAITING_BYTES

    def take_output(self) -> list[bytes]:
        """All that is to be sent, in few pieces: small ones are joined, large ones stay as they are."""
        output, self.output = self.output, []
        if len(output) == 1:
            return output
        pieces: list[bytes] = []
        small: list[bytes] = []
        for piece in output:
            if len(piece) < LARGE:
                small.append(piece)
                continue
            if small:
                pieces.append(b"".join(small))
                small = []
            pieces.append(piece)
        if small:
            pieces.append(b"".join(small))
        return pieces

    def _gather(self, data: bytes) -> bytes:
        """Take the next piece of a large frame, which runs once it is whole; gives what lies behind it."""
        missing = self._missing
        self._pieces.append(data if len(data) <= missing else data[:missing])
        if len(data) < missing:
            self._missing -= len(data)
            return b""
        frame = b"".join(self._pieces)
        self._pieces.clear()
        self._missing = 0
        self._pumping = True
        try:
            self._run(frame)
        finally:
            self._pumping = False
        return data[missing:]

    def _pump(self) -> None:
        """Run the frames that are complete, until one waits or none is left."""
        self._pumping = True
        buffer = self._buffer
        position = 0
        try:
            while not self._waiting and self.closed is None:
                available = len(buffer) - position
                if available < 4:
                    break
                size = int.from_bytes(buffer[position : position + 4], "big", signed=True)
                if not MIN_REQUEST_BYTES <= size <= self._most_bytes:
                    self._end(f"frame of {size} bytes, but {MIN_REQUEST_BYTES} to {self._most_bytes} are taken")
                    break
                if available < 4 + size:
                    if size >= LARGE:
                        self._pieces.append(bytes(buffer[position + 4 :]))
                        self._missing = 4 + size - available
                        position += available
                    break
                with memoryview(buffer) as view:
                    frame = bytes(view[position + 4 : position + 4 + size])
                position += 4 + size
                self._run(frame)
        finally:
            self._pumping = False
            del buffer[:position]

    def _run(self, frame: bytes) -> None:
        api_key, version, correlation_id = REQUEST_START.unpack_from(frame)
        if api_key == CACHED_API and self._answer_kept(frame, correlation_id):
            return
        if self._served is not None:
            if not self._serves(api_key, version, correlation_id):
                return
        elif api_key not in MODULE_OF_API:
            self._end(f"API key {api_key} is not served")
            return
        message = message_class(api_key, "request")
        if version not in message.valid_versions:
            if api_key == API_VERSIONS_KEY:
                self._refuse_version(correlation_id)
            else:
                self._end(f"{message.name} version {version}, but {message.valid_versions} are served")
            return
        try:
            header, start = read_request_header(frame)
            request, _ = codec(message, version).decode(frame, start)  # what is left over is ignored, as in Kafka
        except ProtocolError as error:
            self._end(str(error))
            return
        client = self._client
        if client is None or client.id != header.client_id:
            client = Client(header.client_id, self.listener_rack, self.address, self.listener, self.number)
            self._client = client
            self._client_rack = diskless.client_rack(None, header.client_id, self.listener_rack)
        engine = self.engine
        call = Call(engine.cluster, self.broker, client, version, self.now_ms, engine.rng, api_key, len(frame))
        self._waiting = True

        def answer(response: Any) -> None:
            self._answer(call, correlation_id, response, frame if api_key == CACHED_API else None)

        def failed(error: Exception) -> None:
            self._failed(call, correlation_id, error)

        parked = engine.submit(call, request, answer, failed)
        if parked is not None and parked.wait is not None:
            self._parked = parked

    def _serves(self, api_key: int, version: int, correlation_id: int) -> bool:
        """Whether the release that the broker emulates has this API in this version; says no to the client if not."""
        assert self._served is not None
        if api_key not in self._served:
            self._end(f"API key {api_key} is not served by the release that it emulates")
            return False
        lowest, highest = self._served[api_key]
        if lowest <= version <= highest:
            return True
        if api_key == API_VERSIONS_KEY:
            self._refuse_version(correlation_id)
        else:
            name = message_class(api_key, "request").name
            self._end(f"{name} version {version}, but {lowest}-{highest} are served by the release that it emulates")
        return False

    def _answer_kept(self, frame: bytes, correlation_id: int) -> bool:
        """Answer with what was answered to the same request before, if that still holds."""
        found = self.engine.response_cache.find(frame, self.listener)
        if found is None:
            return False
        answer, kept = found
        self.output.append(RESPONSE_START.pack(4 + len(answer), correlation_id) + answer)
        if self.journal is not None:
            version = int.from_bytes(frame[2:4], "big")
            sizes = (len(frame), 4 + len(answer))
            self._note(self.now_ms, kept.client_id, kept.client_rack, CACHED_API, version, sizes, None)
        return True

    def _answer(self, call: Call, correlation_id: int, response: Any, kept_frame: bytes | None = None) -> None:
        """Send the answer of the present call, and go on with the frames behind it."""
        self._waiting = False
        self._parked = None
        if self.closed is not None:
            return
        size = 0
        if response is not None:
            try:
                size = self._send(correlation_id, response, call.version)
                if kept_frame is not None:
                    self.engine.response_cache.keep(kept_frame, self.listener, call, self.output[-1][8:])
            except ProtocolError as error:
                self._end(f"the answer cannot be written: {error}")
                return
        elif call.close_reason is not None:
            self._end(call.close_reason)
            return
        if self.journal is not None:
            rack = call.client_rack or self._client_rack
            sizes = (call.size, size)
            self._note(call.now_ms, call.client.id, rack, call.api_key, call.version, sizes, call.traffic)
        if not self._pumping:
            self.now_ms = max(self.now_ms, call.now_ms)
            self._pump()
            self.on_output()

    def _note(
        self,
        at_ms: int,
        client_id: str | None,
        client_rack: str | None,
        api_key: int,
        version: int,
        sizes: tuple[int, int],
        traffic: dict[str, int] | None,
    ) -> None:
        """Write an answered call into the journal; ``sizes`` are the bytes of request and response."""
        assert self.journal is not None
        broker = self.broker
        self.journal.add(
            Entry(
                at_ms,
                broker.id,
                broker.rack,
                client_id,
                client_rack,
                self.address,
                self.number,
                api_key,
                version,
                *sizes,
                traffic,
            )
        )

    def _failed(self, call: Call, correlation_id: int, error: Exception) -> None:
        response = top_level_error(message_class(call.api_key, "response"), error)
        if response is not None:
            self._answer(call, correlation_id, response)
            return
        log.error("broker %d failed on API key %d", self.broker.id, call.api_key, exc_info=error)
        self._waiting = False
        self._parked = None
        self._end(f"{type(error).__name__}: {error}")
        if not self._pumping:
            self.on_output()

    def _refuse_version(self, correlation_id: int) -> None:
        from mockbroker.handlers.api_versions import refuse_version

        self._send(correlation_id, refuse_version(self._served), 0)

    def _send(self, correlation_id: int, response: Any, version: int) -> int:
        """Queue a response; gives the bytes of its frame without the length field."""
        message = type(response)
        body = codec(message, version).encode(response)
        tags = NO_TAGS if response_header_version(message.api_key, version) else b""
        size = 4 + len(tags) + len(body)
        start = RESPONSE_START.pack(size, correlation_id) + tags
        if size < LARGE or message.api_key == CACHED_API:  # what is kept is kept as one piece
            self.output.append(start + body)
        else:
            self.output += (start, body)
        return size

    def _end(self, reason: str) -> None:
        self.closed = reason
        log.warning("broker %d closes the connection of %s: %s", self.broker.id, self.address, reason)
