"""Frames to rows of the tables. Rows are tuples in the order of ``tables.TABLES``, kept by API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kafka_rack.pipeline.learning import TELLING_REQUESTS, TELLING_RESPONSES, learn
from kafka_rack.pipeline.tables import TABLES
from kafka_rack.pipeline.values import (
    API_VERSIONS,
    FETCH,
    LENGTH_BYTES,
    PRODUCE,
    SHARE_FETCH,
    Asked,
    Connection,
    Frame,
    State,
    body_start,
)
from protocol.codec import Codec, codec
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, request_header_version, response_header_version
from protocol.registry import message_class

Row = tuple[Any, ...]
Body = tuple[Any, int, int, int]
"""A message, the bytes left over behind it, the version it was read in, its header's version."""
UNKNOWN = "unknown"


class Rows:
    """The rows of some frames: table -> API -> rows."""

    def __init__(self) -> None:
        self.tables: dict[str, defaultdict[str, list[Row]]] = {name: defaultdict(list) for name in TABLES}
        self.frames = 0

    def add(self, table: str, api: str, row: Row) -> None:
        self.tables[table][api].append(row)

    def of(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Every row of a table with its API behind it."""
        for api, rows in self.tables[table].items():
            for row in rows:
                yield (*row, api)

    def as_dicts(self, table: str) -> list[dict[str, Any]]:
        """The same by column, for who reads them one by one."""
        names = [*TABLES[table].names, "api"]
        return [dict(zip(names, row, strict=True)) for row in self.of(table)]

    def clear(self) -> None:
        for by_api in self.tables.values():
            by_api.clear()
        self.frames = 0


class FrameDecoder:
    """Decodes frames one after the other; ``state`` is that of their reading, ``rows`` takes what they give.

    Args:
        only: the tables that are wanted; all by default.
    """

    def __init__(self, state: State, rows: Rows, only: Iterable[str] = TABLES) -> None:
        from kafka_rack.pipeline import groups, traffic

        self.state, self.rows = state, rows
        wanted = frozenset(only)
        self.wanted = wanted
        self._frames = rows.tables["frames"] if "frames" in wanted else None
        self._calls = rows.tables["calls"] if "calls" in wanted else None
        self._requests: dict[int, RowMaker] = {}
        self._responses: dict[int, RowMaker] = {}
        if wanted & {"batches", "produces"}:
            self._requests[PRODUCE] = traffic.produce_request
            self._responses[PRODUCE] = traffic.produce_response
        if wanted & {"batches", "fetches"}:
            self._responses[FETCH] = traffic.fetch_response
            self._responses[SHARE_FETCH] = traffic.fetch_response
        if "memberships" in wanted:
            self._requests.update(groups.REQUESTS)
            self._responses.update(groups.RESPONSES)
        if wanted & {"partitions", "brokers"}:
            from kafka_rack.pipeline import cluster_rows

            self._requests.update(cluster_rows.REQUESTS)
            self._responses.update(cluster_rows.RESPONSES)

    def decode(self, frame: Frame) -> None:
        """Add a frame's rows."""
        for passed_over in frame.passed_over:
            self.unanswered(frame.connection, passed_over)
        if frame.index < 0:
            return
        asked, data = frame.asked, frame.data
        self.rows.frames += 1
        error, message = frame.error, None
        left_over, version, header_version = 0, None, None
        if asked is not None:
            try:
                reading = read_request if frame.is_request else read_response
                message, left_over, version, header_version = reading(asked, data)
            except ProtocolError as fault:
                error = str(fault)
        api = asked.api_name if asked is not None else UNKNOWN
        if self._frames is not None:
            connection = frame.connection
            self._frames[api].append(
                (
                    self.state.capture,
                    frame.ts,
                    connection.number,
                    connection.broker,
                    connection.rack,
                    connection.client,
                    "request" if frame.is_request else "response",
                    asked.api_key if asked is not None else None,
                    api,
                    asked.api_version if asked is not None else None,
                    frame.correlation_id,
                    asked.client_id if asked is not None else None,
                    len(data) + LENGTH_BYTES,
                    error,
                    frame.index,
                    connection.listener,
                    left_over,
                    version,
                    header_version,
                    frame.offset,
                )
            )
        if asked is not None:
            self.message(frame, asked, message)

    def message(self, frame: Frame, asked: Asked, message: Any) -> None:
        """The rows of a body and of a call."""
        api_key = asked.api_key
        if not frame.is_request and self._calls is not None:
            self.call(frame, asked)
        if frame.is_request:
            asked.message = message
        if message is None:
            return
        if api_key in (TELLING_REQUESTS if frame.is_request else TELLING_RESPONSES):
            learn(api_key, frame.is_request, message, self.state.known)
        maker = (self._requests if frame.is_request else self._responses).get(api_key)
        if maker is not None:
            maker(self, frame, asked, message)

    def call(self, frame: Frame, asked: Asked) -> None:
        assert self._calls is not None
        connection = frame.connection
        self._calls[asked.api_name].append(
            (
                self.state.capture,
                asked.ts,
                connection.number,
                connection.broker,
                connection.rack,
                connection.client,
                asked.api_key,
                asked.api_name,
                asked.api_version,
                asked.correlation_id,
                asked.client_id,
                frame.ts - asked.ts,
                asked.frame_bytes,
                len(frame.data) + LENGTH_BYTES,
                asked.frame,
                frame.index,
            )
        )

    def unanswered(self, connection: Connection, asked: Asked) -> None:
        """The rows of a request that will not be answered: records that were sent count all the same."""
        if asked.api_key == PRODUCE and "produces" in self.wanted:
            from kafka_rack.pipeline import traffic

            traffic.produces(self, connection, asked, None, 0)


RowMaker = Callable[[FrameDecoder, Frame, Asked, Any], None]


def asked_message(asked: Asked) -> Any:
    """A request's body, read now if it was asked before reading began; None if it cannot be read."""
    if asked.message is None and asked.data:
        try:
            asked.message = read_request(asked, asked.data)[0]
        except ProtocolError:
            return None
    return asked.message


REQUEST_READERS: dict[tuple[int, int], tuple[Codec, int]] = {}
RESPONSE_READERS: dict[tuple[int, int], tuple[Codec, int, int]] = {}


def read_request(asked: Asked, data: bytes) -> Body:
    """A request's body. Raises ProtocolError."""
    key = asked.api_key, asked.api_version
    known = REQUEST_READERS.get(key)
    if known is None:
        header = request_header_version(*key)
        read_request_header(data)  # a version that does not exist still has a header, or says why not
        known = REQUEST_READERS[key] = (codec(message_class(key[0], "request"), key[1]), header)
    reader, header = known
    message, end = reader.decode(data, body_start(asked, header))
    return message, len(data) - end, asked.api_version, header


def read_response(asked: Asked, data: bytes) -> Body:
    """A response's body, of a refused ApiVersions in version 0. Raises ProtocolError."""
    key = asked.api_key, asked.api_version
    known = RESPONSE_READERS.get(key)
    if known is None:
        message = message_class(key[0], "response")
        version = min(key[1], message.valid_versions.highest) if key[0] == API_VERSIONS else key[1]
        known = RESPONSE_READERS[key] = (codec(message, version), version, response_header_version(*key))
    reader, version, header = known
    start = 4 + header
    if header and data[4:5] != b"\0":
        from protocol.apis.headers import ResponseHeader

        _, start = codec(ResponseHeader, header).decode(data)
    try:
        found, end = reader.decode(data, start)
        if end == len(data) or key[0] != API_VERSIONS:
            return found, len(data) - end, version, header
    except ProtocolError:
        if key[0] != API_VERSIONS:
            raise
    found, end = codec(message_class(API_VERSIONS, "response"), 0).decode(data, start)
    return found, len(data) - end, 0, header
