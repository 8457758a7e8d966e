"""Captures in Arrow's format to frames: rows of many messages together, or one by one."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator
from typing import NamedTuple

import pyarrow as pa

from kafka_rack.wire_capture import frames
from kafka_rack.wire_capture.arrow_files import NoMessage, RowMessage, marks_in, read_head, read_message, requests_in
from kafka_rack.wire_capture.arrow_rows import SCHEMA
from kafka_rack.wire_capture.checkpoints import START, checkpoint_of, nowhere
from kafka_rack.wire_capture.files import DamagedCapture, DecompressedFile, capture_name
from kafka_rack.wire_capture.frames import (
    MAX_PROBLEMS_HELD,
    Frame,
    ObservedCluster,
    Problem,
    ReadingState,
    TakeMany,
    no_frame,
)
from kafka_rack.wire_capture.json_fields import LATEST
from kafka_rack.wire_capture.lines import LineReader

TOGETHER_BYTES = 1 << 20
"""Of messages that are taken together, about."""
MIN_RUN_ROWS = 64
"""Of rows that cannot be taken together; more than these are halved."""


class CapturedRows(NamedTuple):
    """Rows that stand one behind the other; ``positions`` has where: a message's offset and a row's number in it."""

    batch: pa.RecordBatch
    positions: array[int]

    def part(self, start: int, end: int) -> CapturedRows:
        return CapturedRows(self.batch.slice(start, end - start), self.positions[start:end])

    def times(self) -> pa.Int64Array:
        """Microseconds since 1970."""
        return self.batch.column("ts").cast(pa.int64())


def read_rows(
    path: str,
    state: ReadingState,
    problems: list[Problem],
    start: int = 0,
    end: int | None = None,
    *,
    checkpoint_from: int | None = None,
    given: ObservedCluster | None = None,
    can_go_back: bool = True,
    take_many: TakeMany | None = None,
) -> Generator[Frame, None, int]:
    """The frames of a capture's messages that begin at ``start``, a message's start, or later and before ``end``.

    Gives back where the next message starts. Arguments are as of :func:`.lines.read_lines`.
    """
    capture = state.capture or capture_name(path)
    state.capture = capture
    lines_at = requests_in(path) if can_go_back else nowhere
    reader = RowReader(path, state, problems, end, checkpoint_from, given or ObservedCluster(), lines_at)
    messages = Messages(path, capture, problems, start, end, can_go_back=can_go_back)
    for together in messages.together():
        if len(problems) >= MAX_PROBLEMS_HELD:
            yield no_frame()
        rows = rows_of(together, capture, path, problems)
        if rows is None:
            continue
        if take_many is None:
            yield from reader.one_row_each(rows)
        else:
            yield from reader.many_rows(rows, take_many)
        if reader.is_before_checkpoint:
            return reader.offset
    return messages.position


class Messages:
    """The messages of a file from ``start`` on; ``position`` is behind the last one that was read."""

    def __init__(
        self, path: str, capture: str, problems: list[Problem], start: int, end: int | None, *, can_go_back: bool
    ) -> None:
        self.path, self.capture, self.problems = path, capture, problems
        self.position, self.end, self.can_go_back = start, end, can_go_back

    def problem(self, offset: int, reason: str) -> None:
        self.problems.append(Problem(self.capture, self.path, offset, reason))

    def together(self) -> Iterator[list[RowMessage]]:
        """Messages of about a megabyte together; one with a checkpoint by itself, before what follows is looked at."""
        held: list[RowMessage] = []
        held_bytes = 0
        for message in self.each():
            if held and (message.mark.is_checkpoint or held_bytes + len(message.content) > TOGETHER_BYTES):
                yield held
                held, held_bytes = [], 0
            if message.mark.is_checkpoint:
                yield [message]
                continue
            held.append(message)
            held_bytes += len(message.content)
        if held:
            yield held

    def each(self) -> Iterator[RowMessage]:
        """One after the other; what cannot be read is told, and passed over up to the next that can be."""
        try:
            with DecompressedFile(self.path) as source:
                file_id = read_head(source)
                self.position = max(self.position, source.position)
                if not self.can_go_back:
                    yield from self.in_order(source, file_id)
                    return
            following: int | None = self.position
            while following is not None:
                with DecompressedFile(self.path, following) as source:
                    following = yield from self.in_order(source, file_id)
        except DamagedCapture as damage:
            self.problem(damage.offset, damage.reason)
        except NoMessage as fault:
            self.problem(fault.offset, fault.reason)

    def in_order(self, source: DecompressedFile, file_id: str) -> Generator[RowMessage, None, int | None]:
        """The messages from where a file stands; gives where the next one behind damage begins, if one does.

        Raises DamagedCapture.
        """
        while self.end is None or source.position < self.end:
            begins = source.position
            try:
                message = read_message(source, file_id)
            except NoMessage as fault:
                self.problem(fault.offset, fault.reason)
                self.position = source.position
                if not self.can_go_back:
                    return None
                behind = next(marks_in(self.path, file_id, begins + 1, self.end), None)
                return behind.offset if behind is not None else None
            self.position = source.position
            if message is None:
                if self.end is not None and self.position < self.end:
                    reason = f"the file has become shorter: it had {self.end} bytes when it was found"
                    self.problem(self.position, reason)
                return None
            yield message
        return None


def rows_of(together: list[RowMessage], capture: str, path: str, problems: list[Problem]) -> CapturedRows | None:
    """The rows of some messages; None if none can be read."""
    batches: list[pa.RecordBatch] = []
    positions = array("q")
    for message in together:
        try:
            batches.append(message.batch())
        except ValueError as error:
            problems.append(Problem(capture, path, message.mark.offset, f"rows that cannot be read: {error}"))
            continue
        offset = message.mark.offset
        positions.extend(range(offset, offset + message.mark.rows))
    if not batches:
        return None
    if len(batches) == 1:
        return CapturedRows(batches[0], positions)
    whole = pa.Table.from_batches(batches, SCHEMA).combine_chunks()
    arrays = [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in whole.columns]
    return CapturedRows(pa.record_batch(arrays, schema=SCHEMA), positions)


class RowReader(LineReader):
    """Reads rows; ``offset`` is the position of the next one."""

    def many_rows(self, rows: CapturedRows, take_many: TakeMany) -> Iterator[Frame]:
        """Rows; what cannot be taken together is halved until it can, or is small."""
        pending = [rows]
        if checkpoint_first(rows):
            yield from self.one_row_each(rows.part(0, 1))
            pending = [rows.part(1, rows.batch.num_rows)]
        while pending and not self.is_before_checkpoint:
            run = pending.pop()
            count = run.batch.num_rows
            if not count:
                continue
            self.offset = run.positions[0]
            if self.are_in_one_part(run) and take_many(run, self.offset, self.state):
                yield no_frame()
            elif count > MIN_RUN_ROWS:
                pending += [run.part(count // 2, count), run.part(0, count // 2)]
            else:
                yield from self.one_row_each(run)

    def are_in_one_part(self, rows: CapturedRows) -> bool:
        """Whether all rows are in the part of the file in which it was checked what all connections have."""
        return rows.positions[-1] // frames.CHECK_BYTES == self.state.checked

    def one_row_each(self, rows: CapturedRows) -> Iterator[Frame]:
        """The frames of rows, one after the other."""
        names = ("connection", "is_request", "data", "line")
        columns = [rows.times().to_pylist(), *(rows.batch.column(name).to_pylist() for name in names)]
        for self.offset, ts, number, is_request, data, line in zip(rows.positions, *columns, strict=True):
            if line is not None and line.startswith(START) and (checkpoint := checkpoint_of(line)) is not None:
                if not self.goes_on_at(checkpoint):
                    return
                continue
            if self.offset // frames.CHECK_BYTES != self.state.checked:
                yield from self.state.check(self.offset, self.problems, self.path)
            frame = None
            if line is not None:
                frame = self.frame_in(line, self.offset, self.offset)
            elif (fault := fault_of_row(ts, number, is_request, data)) is not None:
                self.problem(self.offset, fault)
            else:
                frame = self.frame(ts, number, data, self.offset, is_request=is_request)
            if frame is not None:
                yield frame


def checkpoint_first(rows: CapturedRows) -> bool:
    """Whether the first row is a checkpoint, which no other is."""
    if not rows.batch.num_rows:
        return False
    line = rows.batch.column("line")[0].as_py()
    return line is not None and line.startswith(START)


def fault_of_row(ts: int | None, number: int | None, is_request: bool | None, data: bytes | None) -> str | None:
    """Why a row that is no line cannot be taken as a frame, or None."""
    if ts is None or number is None or is_request is None or data is None:
        return "a row with neither a line nor all of a frame: ts, connection, is_request and data"
    if not 0 <= ts <= LATEST:
        return f"a row's time, {ts} us since 1970, is no date"
    return None
