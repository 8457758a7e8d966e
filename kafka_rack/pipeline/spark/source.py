"""The Spark data source ``kafka-wire``: captures as a table, batch and streaming.

    spark.dataSource.register(KafkaWire)
    spark.read.format("kafka-wire").option("table", "calls").load("captures/")

docs/pipeline.md documents the options.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from kafka_rack.pipeline.spark.storage_settings import storage_settings
from kafka_rack.storage import StorageSettings, location, use_settings
from kafka_rack.wire_capture.blocks import CaptureBlock, packed, whole_files
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import CaptureFile, capture_name, find_files, look_at, unreadable
from kafka_rack.wire_capture.filters import FrameFilters
from kafka_rack.wire_capture.frames import name_of_api
from kafka_rack.wire_tables.arrow import record_batches
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import UNKNOWN, Rows
from kafka_rack.wire_tables.tables import TABLES
from protocol.registry import messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BLOCKS = "blocks"
BLOCKS_DDL = "file string, start long, end long, block binary"
MAX_ROWS = 20_000
TAIL_BYTES = 1 << 16
"""Of a file that are read at once to find its last whole line; and of its first line."""
US = 1_000_000
OPTIONS = (
    "api",
    "brokers",
    "client",
    "numPartitions",
    "path",
    "paths",
    "ports",
    "since",
    "table",
    "until",
)
REFUSED = "cannot be read as a capture: "
"""Before the reason, in the place of a file's mark."""


class Request(msgspec.Struct):
    """The options of one load, understood."""

    paths: tuple[str, ...]
    table: str = "frames"
    options: Options = msgspec.field(default_factory=Options)
    filters: FrameFilters = msgspec.field(default_factory=FrameFilters)
    partitions: int | None = None
    storage: StorageSettings = StorageSettings()

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Request:
        """Read a source's options; names count without their case. Raises ValueError."""
        given = {name.lower(): value for name, value in options.items()}
        check_options(options)
        if given.get("paths"):  # Spark's form of several paths
            paths = tuple(json.loads(given["paths"]))
        else:
            paths = tuple(filter(None, given.get("path", "").split(",")))
        table = given.get("table", "frames")
        if table not in (*TABLES, BLOCKS):
            raise ValueError(f"table {table!r}, but there are {', '.join([*TABLES, BLOCKS])}")
        return cls(
            paths,
            table,
            Options.parse(given.get("ports"), given.get("brokers")),
            FrameFilters(
                apis_of(given.get("api")),
                names(given.get("client")),
                time_of(given.get("since"), "since"),
                time_of(given.get("until"), "until"),
            ),
            number(given, "numPartitions", 1),
        )


def check_options(options: Iterable[str]) -> None:
    """Refuse an option that there is not, with the nearest that there is. Raises ValueError."""
    known = {name.lower(): name for name in OPTIONS}
    for option in sorted(options):
        if option.lower() not in known:
            near = get_close_matches(option.lower(), known, 1)
            hint = f": did you mean {known[near[0]]}?" if near else f", but there are {', '.join(OPTIONS)}"
            raise ValueError(f"unknown option {option}{hint}")


def names(text: str | None) -> frozenset[str] | None:
    found = frozenset(part.strip() for part in (text or "").split(",") if part.strip())
    return found or None


def apis_of(text: str | None) -> frozenset[str] | None:
    """APIs by Kafka's names. Raises ValueError."""
    found = names(text)
    if found is None:
        return None
    there = sorted({name_of_api(message.api_key) for message in messages() if message.kind == "request"} | {"unknown"})
    for name in sorted(found.difference(there)):
        alike = {one.lower(): one for one in there}
        near = get_close_matches(name.lower(), alike, 1)
        hint = f": did you mean {alike[near[0]]}?" if near else ""
        raise ValueError(f"api {name!r}, but Kafka has none of this name{hint}")
    return found


def number(given: Mapping[str, str], name: str, least: int) -> int | None:
    text = given.get(name.lower())
    if text is None:
        return None
    if not text.strip().isdecimal() or int(text) < least:
        raise ValueError(f"{name}: expected a number from {least}, got {text!r}")
    return int(text)


def time_of(text: str | None, name: str = "time") -> int | None:
    """Microseconds since 1970, as such or as ISO 8601; without a zone it is UTC. Raises ValueError.

    >>> time_of("1970-01-01T00:00:01Z")
    1000000
    """
    if text is None:
        return None
    if text.strip().removeprefix("-").isdecimal():
        return int(text)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        forms = "ISO 8601, as 2026-11-21T08:00:00Z, or microseconds since 1970"
        raise ValueError(f"{name}: expected {forms}, got {text!r}") from None
    since = (found if found.tzinfo else found.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * US + since.microseconds


class BlockPartition(InputPartition):
    """Blocks that one task reads; pickles."""

    def __init__(self, blocks: list[CaptureBlock]) -> None:
        super().__init__(0)
        self.blocks = blocks


class KafkaWire(DataSource):
    """The data source; register it with ``spark.dataSource.register(KafkaWire)``, or for stores by ``kafka_wire``."""

    storage = StorageSettings()

    @classmethod
    def name(cls) -> str:
        return "kafka-wire"

    def schema(self) -> str:
        table = Request.parse(self.options).table
        return BLOCKS_DDL if table == BLOCKS else TABLES[table].ddl

    def reader(self, schema: Any) -> DataSourceReader:
        return WireReader(self.request())

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return WireStreamReader(self.request())

    def request(self) -> Request:
        """Raises ValueError: an option that cannot be; no path."""
        request = Request.parse(self.options)
        if not request.paths:
            raise ValueError("no path: load() takes files and folders, with commas between")
        request.storage = self.storage
        return request


def kafka_wire(spark: SparkSession, base: type[KafkaWire] = KafkaWire) -> type[KafkaWire]:
    """The data source that reaches object stores as this session does.

    Spark asks a data source for its partitions in a Python that has no session, so its class carries the settings.
    """
    return type("KafkaWireOfSession", (base,), {"storage": storage_settings(spark)})


class WireReader(DataSourceReader):
    """Reads what is there."""

    def __init__(self, request: Request) -> None:
        self.request = request

    def partitions(self) -> list[InputPartition]:
        return [BlockPartition(group) for group in planned(self.request)] or [BlockPartition([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, BlockPartition)
        yield from block_batches(self.request, partition.blocks)


class WireStreamReader(DataSourceStreamReader):
    """Follows growing files and new ones.

    An offset is what has been read: file -> [bytes, mark], the bytes of the lines that are whole, the mark telling a
    file from another that takes its name, or why it cannot be read. A task that reads a file's new lines reads those
    before them for what they say, too: of files that rotate, as ``serve --capture`` writes them, that is little.
    """

    def __init__(self, request: Request) -> None:
        self.request = request

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return {}

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """All that can be read now."""
        use_settings(self.request.storage)
        files, refused = find_files(self.request.paths)
        offsets: dict[str, Any] = {path: (1, REFUSED + reason) for path, reason in refused}
        return offsets | {file.path: found for file in files if (found := readable(file)) is not None}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        request = self.request
        use_settings(request.storage)
        blocks: list[CaptureBlock] = []
        for path, (until, mark) in sorted(end.items()):
            begin, mark_before = start.get(path, (0, mark))
            if mark.startswith(REFUSED):
                if path not in start or (mark_before != mark and mark_before.startswith(REFUSED)):
                    blocks.append(refusal(path, mark.removeprefix(REFUSED)))
                continue  # what was read of it before stays
            if mark_before != mark or until < begin:
                begin = 0  # written anew under the same name
            if until > begin:
                blocks += self._blocks(path, begin, until, mark)
        return [BlockPartition(group) for group in packed(blocks, request.partitions or len(blocks))]

    def _blocks(self, path: str, begin: int, until: int, mark: str) -> list[CaptureBlock]:
        try:
            found = look_at(location(path))
            now = None if found is None else readable(found)
        except OSError as error:
            found, now = None, None
            reason = unreadable(error)
        else:
            reason = "it is no capture any more"
        if found is None or now is None:
            return [CaptureBlock(CaptureFile(path, "lines", False, until), begin, until, refused=reason)]
        if now[1] != mark:
            return []  # another file by now: the next batch reads it from its beginning
        file = found._replace(size=until)
        if not can_grow(file):
            return [CaptureBlock(file, 0, until)]
        return [CaptureBlock(file, begin, until)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, BlockPartition)
        yield from block_batches(self.request, partition.blocks)

    def commit(self, end: dict[str, Any]) -> None:
        """Offsets are the files' own; there is nothing to let go of."""


def can_grow(file: CaptureFile) -> bool:
    """Whether a stream follows a file; others are read once, whole, when they are first seen."""
    return file.kind != "packets" and not file.compressed


def readable(file: CaptureFile) -> tuple[int, str] | None:
    """Up to where a file can be read, the end of its last whole line, and its mark; None if that cannot be seen.

    The mark is of the file's beginning, which in a capture names its time; of packets and compressed
    files, which are read once, there is none.
    """
    if not can_grow(file):
        return file.size, ""
    try:
        with location(file.path).open("rb") as opened:
            first: bytes = opened.readline(TAIL_BYTES)
            mark = blake2b(first, digest_size=6).hexdigest() if first.endswith(b"\n") else ""
            return end_of_lines(opened, file.size), mark
    except OSError:
        return None


def end_of_lines(opened: BinaryIO, size: int) -> int:
    """The end of the last whole line in a file of a size."""
    end = size
    while end > 0:
        start = max(0, end - TAIL_BYTES)
        opened.seek(start)
        found = opened.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def planned(request: Request) -> list[list[CaptureBlock]]:
    """The files of a load, by task; a file that was named and is no capture gives a problem."""
    use_settings(request.storage)
    files, refused = find_files(request.paths)
    groups = packed(whole_files(files), request.partitions or len(files))
    if refused:
        groups.append([refusal(path, reason) for path, reason in refused])
    return groups


def refusal(path: str, reason: str) -> CaptureBlock:
    return CaptureBlock(CaptureFile(path, "lines", False, 0), 0, 0, refused=reason)


def block_batches(request: Request, blocks: list[CaptureBlock]) -> Iterator[pa.RecordBatch]:
    """What a task gives Spark."""
    use_settings(request.storage)
    if request.table == BLOCKS:
        for block in blocks:
            yield pa.RecordBatch.from_pylist(
                [{"file": block.file.path, "start": block.start, "end": block.end, "block": pickle.dumps(block)}],
                schema=pa.schema(
                    [("file", pa.string()), ("start", pa.int64()), ("end", pa.int64()), ("block", pa.binary())]
                ),
            )
        return
    for block in blocks:
        rows = Rows()
        if block.refused is not None:
            if request.table == "problems":
                rows.add("problems", UNKNOWN, (capture_name(block.file.path), block.file.path, 0, block.refused))
                yield from (batch for _, batch in record_batches(rows, "problems", with_api=True))
            continue
        pieces = decode_into(
            rows,
            block.file,
            request.options,
            start=block.start,
            end=block.end,
            only=[request.table],
            filters=request.filters,
        )
        for piece in pieces:
            for _, whole in record_batches(piece, request.table, with_api=True):
                for at in range(0, whole.num_rows, MAX_ROWS):
                    yield whole.slice(at, MAX_ROWS)
            piece.clear()
