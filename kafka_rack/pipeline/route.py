"""The route of captures through Spark: files to pieces, pieces by connection in order, connections to tables.

A first step turns lines and packets into rows of ``PIECES``. Spark brings those of a connection together, in order,
whichever files and tasks they come from. A second step follows each connection while its pieces stream by: it
reassembles TCP, pairs responses with requests and emits the rows of all tables. The facts of other connections that it
needs (names of topic ids, leaders, racks and addresses of brokers) are collected before, by the same step.

All steps are functions over batches that run without Spark; ``prepared`` and the jobs wire them.
"""

from __future__ import annotations

import re
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import unquote

import msgspec
import pyarrow as pa

from kafka_rack.pipeline.tables import schema_of, union_batches
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.connections import TcpConnections
from kafka_rack.wire_capture.facts import CAPTURE, SERVER, Clock, ClusterFacts, Fact
from kafka_rack.wire_capture.files import (
    LINES_SUFFIX,
    DamagedCapture,
    DecompressedFile,
    capture_name,
    is_named_packets,
    same_capture,
    scope_of,
)
from kafka_rack.wire_capture.files import lines_of as split_lines
from kafka_rack.wire_capture.frames import Frame, ObservedCluster, Problem, ReadingState, no_frame
from kafka_rack.wire_capture.learning import learn_from
from kafka_rack.wire_capture.lines import BEFORE_ALL, DECODER, UNREADABLE, LineReader, event, fault_of, no_line, texts
from kafka_rack.wire_capture.packets import read_format, read_packets
from kafka_rack.wire_capture.reassembly import PATIENCE_US
from kafka_rack.wire_capture.segments import TcpSegment, segment_in
from kafka_rack.wire_tables.arrow import arrow_schema, record_batch
from kafka_rack.wire_tables.reading import decode_frames
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from protocol.backends import backend

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAID, PROBLEM, EVENT, REQUEST, RESPONSE, SEGMENT = range(6)
"""Kinds of pieces: an event about the cluster, an unreadable part, an event about a connection, a frame of lines, a TCP
segment."""
Piece = namedtuple(  # noqa: PYI024 - the types are Spark's
    "Piece",
    "scope key moment file offset kind data number conn ts source source_port target target_port flags size",
    defaults=(0, None, 0, None, None, None, None, 0, 0),
)
"""A piece's columns; those from ``source`` on are a segment's.

``scope``: the files that describe one cluster, a file of lines or all of a rotated capture of packets. ``key``: the
connection, of lines its number in the file, of packets both its ends. ``moment``: of packets the latest time in the
file so far, of lines where Spark's part of the file begins. ``offset``: of packets in the file, of lines from the first
of Spark's part on. ``number``: frames of lines before this one in Spark's part; of a segment its sequence number.
``conn``: of lines.
"""
PIECE_TYPES = {**dict.fromkeys(("scope", "key", "file", "source", "target"), "string"), "data": "binary"}
PIECES_DDL = ", ".join(f"{name} {PIECE_TYPES.get(name, 'long')}" for name in Piece._fields)
PIECES = schema_of(PIECES_DDL)
ORDER = ("key", "moment", "file", "offset")
FACTS_DDL = "scope string, kind string, name binary, value binary, moment long, file string, offset long, frames int"
FACTS = schema_of(FACTS_DDL)
POSITION = ("moment", "file", "offset", "frames")
MAX_ROWS, MAX_BYTES = 2_000, 8 << 20
"""The largest batch that a step emits."""
MAX_SPARK_ROWS = 500
"""The same of the batches in which Spark sends pieces to Python: of segments of 64 KiB, 32 MiB."""
STORED_PIECES, STORED_ROWS = 20, 1_000
"""Of a batch that Spark stores. Java's serializer holds the last 100 (``spark.serializer.objectStreamReset``)."""
FRAMES_PER_BYTE = 16
"""Numbers of frames for each byte of a file of packets: frames of one packet get those from its offset on."""
MAX_FILE_BYTES = 1 << 40
Batches = Iterable[pa.RecordBatch]
Row = tuple[Any, ...]
Step = Callable[[Batches], Iterator[pa.RecordBatch]]
Parts = Mapping[tuple[str, int], tuple[int, int, int]]
"""By file and begin of Spark's part: where its first line begins, and how many frames and lines come before."""


class Input(NamedTuple):
    """The files of a run, by path or URL; ``named`` are those that the user named one by one."""

    files: list[str]
    named: frozenset[str] = frozenset()


# -- first step: files to pieces ---------------------------------------------------------------------------------------


def lines_to_pieces(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Lines (``value``, ``file`` and ``part``, where Spark's part of the file begins) to pieces."""
    yield from batched(pieces_in((line, path_of(url), part) for line, url, part in rows_in(batches)))


def rows_in(batches: Batches) -> Iterator[Row]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def pieces_in(lines: Iterable[tuple[bytes, str, int]]) -> Iterator[Row]:
    """The pieces of lines with their file and where Spark's part of it begins."""
    before: tuple[str, int] | None = None
    offset = frames = 0
    for line, file, part in lines:
        if (file, part) != before:
            before, offset, frames = (file, part), 0, 0
        kind, conn, ts, data = line_to_piece(line)
        if kind is not None:
            key = file if conn is None else f"{file}#{conn}"
            yield Piece(file, key, part, file, offset, kind, data, frames, conn, ts)
        frames += kind in (REQUEST, RESPONSE)
        offset += len(line) + 1


def line_to_piece(line: bytes) -> tuple[int | None, int | None, int, bytes]:
    """A line's kind, connection, time and data; the kind is None for a line without data."""
    try:
        found = DECODER.decode(line)
    except UNREADABLE as error:
        return (PROBLEM, None, 0, no_line(error).encode()) if line.strip() else (None, None, 0, b"")
    if found.dir is None and found.ev is not None:
        kind = SAID if found.ev in ("capture", "topic") else None if found.conn is None else EVENT
        return kind, None if kind == SAID else found.conn, found.t, line
    fault = fault_of(found)
    if fault is not None:
        return PROBLEM, None, 0, fault.encode()
    assert found.data is not None
    return REQUEST if found.dir == "req" else RESPONSE, found.conn, found.t, found.data


def files_to_pieces(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Whole files (``file`` and ``content``, null if the task reads the file itself) to pieces."""
    yield from batched(
        piece
        for url, content in rows_in(batches)
        for piece in (lines_of if is_lines(url) else packets_of)(path_of(url), content)
    )


def lines_of(file: str, content: bytes | None = None) -> Iterator[Row]:
    """The pieces of one file of lines; of a damaged one those before the damage, and the damage."""
    problems: list[Problem] = []
    with DecompressedFile(file, content=content) as source:
        found = (text for _, text in texts(source, "", problems))
        yield from pieces_in((line, file, 0) for text in found for line in split_lines(text))
    for problem in problems:
        yield Piece(file, file, 0, file, problem.offset, PROBLEM, problem.reason.encode())


def packets_of(file: str, content: bytes | None = None) -> Iterator[Row]:
    """The pieces of one file of packets."""
    scope, moment, damaged = scope_of(file), 0, list[tuple[int, str]]()
    try:
        with DecompressedFile(file, content=content) as source:
            file_format = read_format(source)
            for packet in read_packets(source, file_format, damaged):
                found = segment_in(packet, file_format, damaged)
                if found is not None:
                    moment = max(moment, found.ts)
                    ends = (*found.source, *found.target)
                    key = "|".join(f"{host}:{port}" for host, port in sorted((found.source, found.target)))
                    place = scope, key, moment, file, found.offset, SEGMENT, found.data, found.sequence, None, found.ts
                    yield (*place, *ends, found.flags, found.size)
    except DamagedCapture as damage:
        damaged.append((damage.offset, damage.reason))
    for offset, reason in damaged:
        yield Piece(scope, file, moment, file, offset, PROBLEM, reason.encode())


def batched(pieces: Iterable[Row], schema: pa.Schema = PIECES) -> Iterator[pa.RecordBatch]:
    """Rows as batches of a bounded size."""
    at = schema.get_field_index("data" if schema is PIECES else "name")
    held: list[Row] = []
    held_bytes = 0
    for piece in pieces:
        held.append(piece)
        held_bytes += len(piece[at])
        if len(held) >= MAX_ROWS or held_bytes >= MAX_BYTES:
            yield batch_of(held, schema)
            held, held_bytes = [], 0
    if held:
        yield batch_of(held, schema)


def batch_of(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array(column, type=field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def path_of(url: str) -> str:
    """A file as Spark names it: a path of this machine, else the URL.

    >>> path_of("file:///trace/a%20b.pcap"), path_of("s3a://trace/b.pcap")
    ('/trace/a b.pcap', 's3a://trace/b.pcap')
    """
    return unquote(re.sub("^file:/+", "/", url))


# -- second step: connections to frames --------------------------------------------------------------------------------


class Connections:
    """Reads pieces, one connection after the other.

    ``state.capture`` is the capture of the last frame; unreadable parts are added to ``problems``.

    Args:
        evidence: the facts about each scope's cluster; None while they are collected, in ``facts``.
        parts: of files of lines in more than one part.
        named: files whose problems are reported even if they are no captures.
        order: file -> its place in its capture, if rotated files are one capture; None if each is its own.
    """

    def __init__(
        self,
        options: Options,
        parts: Parts,
        evidence: Mapping[str, Sequence[Fact]] | None = None,
        named: frozenset[str] = frozenset(),
        order: Mapping[str, int] | None = None,
    ) -> None:
        self.options, self.parts, self.evidence, self.named, self.order = options, parts, evidence, named, order
        self.clock = Clock()
        self.facts: list[tuple[str, Fact]] = []
        self.noted: list[Fact] = []
        self.problems: list[Problem] = []
        self.state = ReadingState()
        self.clusters: dict[tuple[str, bool], ClusterFacts] = {}
        self.traffic = TcpConnections(self.state, self.problems)
        self.servers: set[tuple[str, int]] = set()
        self.is_noted = False  # that the file is a capture
        self.key = self.scope = self.file = ""
        self.seen_us = self.offset = self.first_frame = 0

    def frames(self, batches: Batches) -> Iterator[Frame]:
        """The frames of all connections; those with index -1 bring requests without an answer."""
        for row in rows_in(batches):
            yield from self.frames_of(Piece(*row))
        yield from self.end()

    def frames_of(self, piece: Piece) -> Iterator[Frame]:
        if piece.key != self.key:
            yield from self.end()
            self.begin(piece)
        if piece.kind == SEGMENT:
            yield from self.counted(self.segment(piece))
            return
        begins, frames, _ = self.parts.get((piece.file, piece.moment), (piece.moment, 0, 0))
        offset = begins + piece.offset if is_lines(piece.file) else piece.offset
        self.clock.now = (piece.moment, piece.file, piece.offset, 0)
        if piece.kind == PROBLEM:
            if not is_lines(piece.file) or piece.file in self.named or piece.scope in (self.evidence or ()):
                self.problems.append(Problem(self.state.capture, piece.file, offset, piece.data.decode()))
        elif piece.kind in (SAID, EVENT):
            frame = None
            with suppress(*UNREADABLE):
                frame = event(DECODER.decode(piece.data), self.state)
            if frame is not None:
                yield frame
        else:
            reader = LineReader(piece.file, self.state, self.problems)
            self.state.frames = frames + piece.number
            assert piece.conn is not None
            yield reader.frame(piece.ts, piece.conn, piece.data, offset, is_request=piece.kind == REQUEST)
        if piece.kind != PROBLEM and self.evidence is None and not self.is_noted:
            self.is_noted = True
            self.noted.append(Fact(CAPTURE, True, True, self.clock.now))
        self.take_notes()

    def begin(self, piece: Piece) -> None:
        """Start with another connection, or with the pieces of a file that belong to none."""
        self.key = piece.key
        self.servers = set()
        self.state.connections, self.state.frames = {}, 0
        self.traffic = TcpConnections(self.state, self.problems, self.options.ports)
        self.move_to(piece)

    def move_to(self, piece: Piece) -> None:
        """Continue in another file: waiting requests get the numbers of requests in an earlier file."""
        self.file, self.scope, self.is_noted = piece.file, piece.scope, False
        self.traffic.path = self.file
        if self.order is None:
            self.state.capture, self.state.frames = capture_name(piece.file), 0
            for connection in self.state.connections.values():
                for at, asked in enumerate(connection.asked.values()):
                    asked.frame = BEFORE_ALL + at
        else:
            self.state.capture = capture_name(piece.scope)
            self.first_frame = self.order[piece.file] * MAX_FILE_BYTES * FRAMES_PER_BYTE
        cluster = self.cluster(piece.scope, is_packets=not is_lines(piece.file))
        self.state.known = cast("ObservedCluster", cluster)
        self.traffic.brokers = ObservedCluster(racks=cluster.last_racks, endpoints=cluster.endpoints)
        self.traffic.servers |= cluster.servers

    def cluster(self, scope: str, *, is_packets: bool) -> ClusterFacts:
        found = self.clusters.get((scope, is_packets))
        if found is None:
            known = self.options.known()
            facts = () if self.evidence is None else self.evidence.get(scope, ())
            noted = self.noted if self.evidence is None else None
            found = self.clusters[scope, is_packets] = ClusterFacts(
                self.clock, facts, known.racks, known.endpoints, at_any_place=is_packets, noted=noted
            )
        return found

    def segment(self, piece: Piece) -> Iterator[Frame]:
        """The frames that a segment completes.

        Of a connection that was captured at both ends, the file that has it first counts while it goes on.
        """
        if piece.file != self.file and (piece.scope == self.scope or piece.ts - self.seen_us > PATIENCE_US):
            self.move_to(piece)
        if piece.file == self.file:
            self.offset, self.seen_us = piece.offset, piece.ts
            self.clock.now = (piece.moment, piece.file, piece.offset, 0)
        self.state.frames = max(self.state.frames, self.first_frame + self.offset * FRAMES_PER_BYTE)
        segment = TcpSegment(
            self.offset,
            piece.ts,
            (piece.source or "", piece.source_port or 0),
            (piece.target or "", piece.target_port or 0),
            piece.number,
            piece.flags,
            piece.data,
            piece.size,
        )
        yield from self.traffic.take(segment)

    def end(self) -> Iterator[Frame]:
        """Yield the frames that the connection still holds."""
        moment, file, offset, _ = self.clock.now
        self.clock.now = (1 << 62, "", 0, 0) if self.evidence is not None else (moment, file, offset, 1 << 20)
        yield from self.counted(self.traffic.finish())

    def counted(self, frames: Iterator[Frame]) -> Iterator[Frame]:
        """Frames, each at a position of its own."""
        for frame in frames:
            yield frame
            self.take_notes()
            moment, file, offset, count = self.clock.now
            self.clock.now = (moment, file, offset, count + 1)
        self.take_notes()

    def take_notes(self) -> None:
        """Facts, with the brokers' addresses among them."""
        if self.evidence is not None:
            return
        for server in self.traffic.servers - self.servers:
            self.noted.append(Fact(SERVER, server, True, self.clock.now))
            self.servers.add(server)
        self.facts += [(self.scope, fact) for fact in self.noted]
        self.noted.clear()


def pieces_to_facts(options: Options, parts: Parts) -> Step:
    """A step: the facts about clusters in the frames of connections."""

    def facts(batches: Batches) -> Iterator[pa.RecordBatch]:
        reading = Connections(options, parts)

        def rows() -> Iterator[Row]:
            for frame in chain(reading.frames(batches), [no_frame()]):  # after which the last facts are known
                if frame.index >= 0:
                    learn_from(frame, reading.state.known)
                found, reading.facts = reading.facts, []
                reading.problems.clear()
                for scope, (kind, key, value, position) in found:
                    yield scope, kind, packed(key), packed(value), *position

        yield from batched(rows(), FACTS)

    return facts


def evidence_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Fact]]:
    """Facts in the order of their positions, by scope."""
    found: dict[str, list[Fact]] = {}
    for row in rows:
        moment, file, offset, frames = (row[name] for name in POSITION)
        fact = Fact(row["kind"], unpacked(row["name"]), unpacked(row["value"]), (moment, file, offset, frames))
        found.setdefault(row["scope"], []).append(fact)
    for facts in found.values():
        facts.sort(key=attrgetter("position"))
    return found


packed = msgspec.msgpack.encode


def unpacked(data: bytes) -> Any:
    found = msgspec.msgpack.decode(data)
    return tuple(found) if isinstance(found, list) else found


# -- third step: frames to rows ----------------------------------------------------------------------------------------

SCHEMAS = {name: arrow_schema(name, with_api=True) for name in TABLES}


def pieces_to_rows(
    options: Options, evidence: Mapping[str, Sequence[Fact]], parts: Parts, named: frozenset[str] = frozenset()
) -> Step:
    """A step: the rows of all tables, of pieces by connection."""
    driver = backend()

    def decode(batches: Batches) -> Iterator[pa.RecordBatch]:
        if (driver, backend()) == ("native", "python"):
            warnings.warn("this worker lacks kafka-rack-native: it decodes several times slower", stacklevel=1)
        reading = Connections(options, parts, evidence, named)
        for rows in decode_frames(Rows(), reading.frames(batches), reading.state, reading.problems):
            yield from row_batches(rows)

    return decode


def row_batches(rows: Rows) -> Iterator[pa.RecordBatch]:
    """Yield all rows, and clear them."""
    for table in TABLES:
        found = record_batch(rows, table)
        if found is not None:
            yield from union_batches(table, found, SCHEMAS)
    rows.clear()


# -- on Spark ----------------------------------------------------------------------------------------------------------


def find_input(spark: SparkSession, paths: Sequence[str]) -> Input:
    """The captures under files, folders and patterns of URLs, as Spark lists them.

    Files in folders need a capture's name; files that the user names may have any. ``x.jsonl`` and ``x.jsonl.gz`` are
    one capture, and the plain file is read.

    Raises: PySparkException: a path does not exist.
    """
    found, named = listed(spark, paths)
    best: dict[str, str] = {}
    for path in sorted(found):
        if is_lines(path) or is_named_packets(path) or path in named:
            best.setdefault(same_capture(path), path)
    return Input(list(best.values()), frozenset(named))


def listed(spark: SparkSession, paths: Sequence[str]) -> tuple[set[str], set[str]]:
    """All files under these paths, and those among them that the user named."""
    named = {path if "://" in path else str(Path(path).resolve()) for path in paths}
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    places = [place_of(path) if path.startswith("/") else path for path in named]
    return {path_of(row.url) for row in reader.load(places).selectExpr("_metadata.file_path url").collect()}, named


def place_of(path: str) -> str:
    """A file's URL for Spark, with escapes for the characters of patterns.

    >>> place_of("/trace/a[1].pcap")
    'file:///trace/a\\\\[1\\\\].pcap'
    """
    literal = re.sub(r"([{}\[\]*?\\])", r"\\\1", path)
    return f"file://{literal}" if path.startswith("/") else literal


def is_lines(path: str) -> bool:
    return same_capture(path).endswith(LINES_SUFFIX)


def pieces_of(spark: SparkSession, found: Input) -> tuple[DataFrame, Parts]:
    """The pieces of captures, in no order, and where Spark's parts of large files of lines begin."""
    from pyspark.sql import functions as sql

    frames: list[DataFrame] = []
    parts: Parts = {}
    plain = [path for path in found.files if path.endswith(LINES_SUFFIX)]
    if plain:
        lines = text_of(spark, plain)
        parts = parts_of(lines)
        frames.append(lines.mapInArrow(lines_to_pieces, PIECES_DDL))
    if whole := [path for path in found.files if not path.endswith(LINES_SUFFIX)]:
        files = spark.read.format("binaryFile").load([place_of(path) for path in whole])
        is_here = all(path.startswith("/") for path in whole)  # and on each worker, as Spark has it
        content = sql.lit(None).cast("binary") if is_here else sql.col("content")
        read = files.select(sql.col("_metadata.file_path").alias("file"), content.alias("content"))
        frames.append(read.mapInArrow(files_to_pieces, PIECES_DDL))
    first, *more = frames or [spark.createDataFrame([], PIECES_DDL)]
    return (first.unionAll(more[0]) if more else first), parts


def text_of(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """The lines of files, as ``value``, with the ``file`` and ``part``, where Spark's part of the file begins."""
    from pyspark.sql import functions as sql

    return (
        spark.read.option("lineSep", "\n")
        .text([place_of(path) for path in files])
        .select(
            sql.col("value").cast("binary").alias("value"),
            sql.col("_metadata.file_path").alias("file"),
            sql.col("_metadata.file_block_start").alias("part"),
        )
    )


def parts_of(lines: DataFrame) -> Parts:
    """The bytes, frames and lines before each of Spark's parts of files, counted by Spark; {} for files in one part."""
    from pyspark.sql import functions as sql

    if lines.where("part > 0").limit(1).count() == 0:
        return {}
    size, is_frame = sql.octet_length("value") + 1, sql.col("value").contains(sql.lit(b'"dir":')).cast("int")
    counted = lines.groupBy("file", "part").agg(sql.sum(size), sql.sum(is_frame), sql.count("*")).collect()
    parts: dict[tuple[str, int], tuple[int, int, int]] = {}
    before: dict[str, tuple[int, int, int]] = {}
    for url, part, more_bytes, more_frames, more_lines in sorted(counted):
        begins, frames, count = parts[path_of(url), part] = before.get(url, (0, 0, 0))
        before[url] = begins + more_bytes, frames + more_frames, count + more_lines
    return parts


def prepared(
    spark: SparkSession, found: Input, options: Options, tasks: int | None = None, *, by: Sequence[str] = ("key",)
) -> tuple[DataFrame, dict[str, list[Fact]], Parts]:
    """The pieces of a run, by connection in order, with the evidence and the parts that reading them takes.

    Args:
        tasks: the number of tasks; default: Spark's setting.
        by: the columns by which Spark brings pieces together.
    """
    from pyspark import StorageLevel
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(MAX_SPARK_ROWS))
    spark.conf.set("spark.sql.inMemoryColumnarStorage.batchSize", str(STORED_PIECES))
    pieces, parts = pieces_of(spark, found)
    shared = pieces.repartition(*by) if tasks is None else pieces.repartition(tasks, *by)
    ordered = shared.sortWithinPartitions(*by, *ORDER).persist(StorageLevel.DISK_ONLY)
    before = sql.lag("value").over(Window.partitionBy("scope", "kind", "name").orderBy(*POSITION))
    facts = ordered.mapInArrow(pieces_to_facts(options, parts), FACTS_DDL).withColumn("before", before)
    changes = facts.where(~sql.col("value").eqNullSafe(sql.col("before"))).collect()
    spark.conf.set("spark.sql.inMemoryColumnarStorage.batchSize", str(STORED_ROWS))
    return ordered, evidence_of(row.asDict() for row in changes), parts
