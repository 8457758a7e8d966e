"""The reader of plain frames in Rust: it is given the declared rows, and where messages have what these hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from kafka_rack.wire_capture.bodies import response_reader
from kafka_rack.wire_capture.frames import (
    API_VERSIONS,
    FETCH,
    PRODUCE,
    SHARE_FETCH,
    CapturedConnection,
    Fact,
    Frame,
    PendingRequest,
    RequestKind,
)
from kafka_rack.wire_capture.learning import REPORTING_REQUESTS, REPORTING_RESPONSES
from kafka_rack.wire_tables import cluster_rows, traffic
from kafka_rack.wire_tables.rows import NONE, NUMBER_BYTES, ROWS
from protocol.backends import core
from protocol.errors import ProtocolError
from protocol.headers import request_header_version
from protocol.layouts import layout
from protocol.records.compression import CompressionCodec, decompress
from protocol.records.sizes import CODEC_NAMES
from protocol.registry import message_class

if TYPE_CHECKING:
    from kafka_rack.wire_tables.frame_decoding import FrameDecoder

EVENTS = "frames:frame calls:call batches:batch fetches:part produces:part settings:item"
"""The tables, each with what has a row there."""
Items = list[tuple[str, str, Any]]
"""Arrays whose items have rows, the fields that these are made of, from the outermost array on, and of settings the
function that makes the columns of them."""
PRODUCE_FIELDS = "name topic_id partition_data.index partition_data.records"
PRODUCED_FIELDS = "name topic_id partition_responses.index partition_responses.error_code"
PARTITION_FIELDS = ("partition_index", "records", "error_code", "preferred_read_replica")
FETCH_FIELDS = " ".join(["topic topic_id", *(f"partitions.{name}" for name in PARTITION_FIELDS)])
FETCHED: tuple[str, Items] = "fetched", [("responses.partitions", FETCH_FIELDS, None)]
MADE: dict[tuple[int, bool], tuple[str, Items]] = {
    (PRODUCE, True): ("produce", [("topic_data.partition_data", PRODUCE_FIELDS, None)]),
    (PRODUCE, False): ("produced", [("responses.partition_responses", PRODUCED_FIELDS, None)]),
    (FETCH, False): FETCHED,
    (SHARE_FETCH, False): FETCHED,
    (cluster_rows.DESCRIBE_CONFIGS, False): (
        "items",
        [("results.configs", "resource_type resource_name configs.name configs.value", cluster_rows.config_setting)],
    ),
    (API_VERSIONS, True): (
        "items",
        [("", "client_software_name client_software_version", cluster_rows.software_setting)],
    ),
    (API_VERSIONS, False): (
        "items",
        [
            ("api_keys", "api_key min_version max_version", cluster_rows.api_setting),
            ("finalized_features", "name max_version_level", cluster_rows.feature_setting),
        ],
    ),
}
"""By API and whether it is a request: the sort of rows, and what they are made of; a setting in a request also of the
client id."""


TRAFFIC = (PRODUCE, FETCH, SHARE_FETCH)
"""APIs whose rows have the leaders of partitions, which change."""
PLACES = {
    table: (len(ROWS[table]), tuple(map(ROWS[table].index, ("place", "ts", "frame"))))
    for table in ("partitions", "memberships", "brokers", "settings")
}
"""The width of rows, and the columns that are the frame's own."""
EMPTY = bytearray()


def reader(decoder: FrameDecoder) -> Any:
    """The reader for a decoder of frames; None where Python reads."""
    if core is None:
        return None
    asked = NativeRows(decoder)
    events = (one.split(":") for one in EVENTS.split())
    tables = [(table, event, ROWS[table]) for table, event in events if table in decoder.wanted]
    functions = {name: getattr(asked, name) for name in ("plan", "way", "form", "part", "client", "read", "note")}
    functions["place"] = decoder.target.place
    functions["rows"] = lambda kind, table: decoder.rows.tables[table][kind.api_name]
    functions["decompress"] = lambda codec, data, magic: decompress(CompressionCodec(codec), data, magic=magic)
    return core.FrameReader(
        (Frame, PendingRequest, CapturedConnection), asked.target.state, tables, traffic.MOVED, functions
    )


@cache
def walk_over(version: int, key: int, is_request: bool, wanted: tuple[str, ...], levels: tuple[str, ...]) -> Any:
    """The walk over messages of a version to the wanted fields, by arrays. Raises ProtocolError: there is no such."""
    from protocol.native import record

    message = message_class(key, "request" if is_request else "response")
    return core.Walk(record(layout(message, version)), wanted, levels)


class NativeRows:
    """The functions that the reader in Rust calls, for one decoder of frames."""

    def __init__(self, decoder: FrameDecoder) -> None:
        self.decoder, self.target, self.shared = decoder, decoder.target, decoder.target.rows.shared
        self.setting = cache(self.numbered)
        self.sides: dict[tuple[int, int, bool], tuple[Any, ...] | None] = {}

    def plan(self, kind: RequestKind) -> tuple[Any, ...]:
        """How frames of a kind are read; None for those that Python reads."""
        tables = "frames", "calls", "batches", "produces" if kind.api_key == PRODUCE else "fetches", "settings"
        sides = [self.side(kind, is_request) if kind.fits else None for is_request in (True, False)]
        return kind.header_end, self.target.kind(kind), tables, *sides, kind.api_key not in TRAFFIC

    def read(self, frame: Frame, asked: PendingRequest) -> tuple[int, int, list[Any], list[Fact], int]:
        """Add the rows of a frame in Python; returns how to add them again for the same bytes.

        Returns: the numbers of how it was read and of its error; of each other table with new rows their bytes, where
        the new ones begin, their width and the columns of place, time and frame; the facts that it reports; their
        number.
        """
        api, tables, known = asked.kind.api_name, self.decoder.rows.tables, self.target.known
        before = {table: len(tables[table].get(api, b"")) for table in PLACES}
        facts: list[Fact] = []
        known.noted = facts
        try:
            self.decoder.add_rows(frame, asked)
        finally:
            known.noted = None
        new = [
            (held, before[table], *places)
            for table, places in PLACES.items()
            if len(held := tables[table].get(api, EMPTY)) > before[table]
        ]
        way = error = NONE
        if self.decoder.frames_wanted:
            row = memoryview(tables["frames"][api][-NUMBER_BYTES * len(ROWS["frames"]) :]).cast("q")
            way, error = row[ROWS["frames"].index("way")], row[ROWS["frames"].index("error")]
        return way, error, new, facts, len(facts)

    def note(self, facts: list[Fact]) -> None:
        """Note again what a frame reports."""
        for fact in facts:
            self.target.known.note(*fact)

    def side(self, kind: RequestKind, is_request: bool) -> tuple[Any, ...] | None:
        """How requests or responses of an API's version are read; those of ApiVersions have rows with the client id."""
        if kind.api_key == API_VERSIONS and is_request:
            return self.made_side(kind, is_request)
        of = kind.api_key, kind.api_version, is_request
        if of not in self.sides:
            self.sides[of] = self.made_side(kind, is_request)
        return self.sides[of]

    def made_side(self, kind: RequestKind, is_request: bool) -> tuple[Any, ...] | None:
        """A walk, the header before it, and which rows it gives; None where Python reads."""
        key, decoder = kind.api_key, self.decoder
        maker = (decoder.on_request if is_request else decoder.on_response).get(key)
        learns = key in (REPORTING_REQUESTS if is_request else REPORTING_RESPONSES)
        if learns or (maker is not None and (key, is_request) not in MADE):
            return None
        try:
            if is_request:
                version, header = kind.api_version, request_header_version(key, kind.api_version) - 1
            else:
                _, version, header = response_reader(kind)
            sort, items = MADE[key, is_request] if maker is not None else ("", [])
            if is_request and key in (FETCH, SHARE_FETCH):
                replica = "replica_id" if version < 15 else "replica_state.replica_id"
                sort, items = "fetch", [("", f"{replica} rack_id group_id", None)]
            named = ((path.partition(".")[0], name) for path, names, _ in items for name in names.split())
            fields = [f"{array}.{name}".lstrip(".") for array, name in named]
            levels = tuple(path for path, *_ in items if path or sort == "items")
            way = key, is_request, (*fields, *["acks"] * (sort == "produce")), levels
            walk, otherwise = walk_over(version, *way), None
            if key == API_VERSIONS and not is_request:  # a refusal, which is in version 0
                otherwise = walk_over(0, *way)
        except ProtocolError:
            return None
        settings, start = [], 0
        for _, names, columns in items:
            if sort == "items" and is_request:
                setting = self.numbered(partial(columns, kind.client_id))
            else:
                setting = self.setting(columns)
            settings.append((start, start := start + len(names.split()), setting))
        return walk, header == 1, otherwise, sort, settings

    def numbered(self, columns: Callable[..., cluster_rows.Setting]) -> Callable[..., list[int]]:
        """A function of an item's fields that gives the numbers of its row's own columns."""
        kept = self.target.rows.kept
        return lambda *values: [NONE if one is None else kept("string", one) for one in columns(*values)]

    def way(self, kind: RequestKind, is_request: bool, is_refused: bool, left_over: int) -> int:
        """The number of how a body was read."""
        if is_request:
            version, header = kind.api_version, request_header_version(kind.api_key, kind.api_version)
        else:
            _, version, header = response_reader(kind)
            version = 0 if is_refused else version
        return self.target.way(is_request, left_over, version, header)

    def form(self, is_request: bool, magic: int, codec: int, is_transactional: bool, is_control: bool) -> int:
        """The number of the form of a batch."""
        form = magic, CODEC_NAMES[CompressionCodec(codec)], is_transactional, is_control, False
        return self.shared["form"]["request" if is_request else "response", *form]

    def part(self, name: str | None, topic_id: bytes, number: int | None) -> tuple[int, int]:
        """The numbers of a partition, and of who serves it."""
        found = name or (self.target.known.topics.get(topic_id) if number is not None else None)
        part = found, topic_id, number, None
        return traffic.part_of(self.target, part), traffic.serving_of(self.target, part)

    def client(self, connection: CapturedConnection, asked: PendingRequest, said: tuple[Any, ...]) -> int:
        """The number of who produces, by its acks, or fetches, by its replica id, rack and group."""
        if asked.kind.api_key == PRODUCE:
            return traffic.writer_number(self.target, connection, asked, *said)
        said = (-1, *said[1:]) if asked.kind.api_key == SHARE_FETCH else said
        return traffic.reader_number(self.target, connection, asked, *said)
