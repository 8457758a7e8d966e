"""Frames to rows, many at once: the same rows as :class:`.frame_decoding.FrameDecoder` gives.

Frames wait until there are ``MAX_FRAMES`` of them. Then those of one API, version and direction are read together by a
column reader of :mod:`protocol.compiler.columns`, and become rows by operations on arrays. What tells about the
cluster, and the few kinds with rows of their own shape, are read at once, one by one; so are, when their turn comes,
frames that a column reader finds odd. Rows see what was known at their frame: :mod:`.history` has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_rack.wire_capture.frame_columns import NO_ID, FrameColumns, of_frames, of_rows, of_text
from kafka_rack.wire_capture.frames import (
    API_VERSIONS,
    FETCH,
    PRODUCE,
    SHARE_FETCH,
    CapturedConnection,
    Frame,
    PendingRequest,
    ReadingState,
    RequestKind,
)
from kafka_rack.wire_capture.learning import TELLING_REQUESTS, TELLING_RESPONSES
from kafka_rack.wire_tables.alike_responses import (
    MAX_ALIKE_BYTES,
    Alike,
    Own,
    ReadOnce,
    add_again,
    lengths,
    rows_behind,
)
from kafka_rack.wire_tables.column_traffic import TrafficRows, wanted_fields
from kafka_rack.wire_tables.frame_decoding import NO_KIND, FrameDecoder, Handling
from kafka_rack.wire_tables.history import HistoricCluster
from kafka_rack.wire_tables.rows import NONE, NUMBER_BYTES, ROWS, UNKNOWN, PastTarget, Rows
from kafka_rack.wire_tables.tables import TABLES
from kafka_rack.wire_tables.waiting_frames import Waiting, WaitingFrames
from protocol.compiler.column_reading import Columns, Numbers
from protocol.compiler.columns import ColumnsReader, compile_columns
from protocol.errors import ProtocolError
from protocol.headers import request_header_version, response_header_version
from protocol.registry import message_class

if TYPE_CHECKING:
    from kafka_rack.wire_capture.arrow_frames import CapturedRows

MAX_FRAMES = 100_000
MAX_BYTES = 48 << 20
"""Of frames that wait to be read together."""
MAX_PLACES = 10_000
MIN_FRAMES = 24
"""Of one kind that are worth a column reader."""
ONE_BY_ONE = frozenset({API_VERSIONS})
"""APIs whose responses are read in more than one version."""
TRAFFIC = frozenset({PRODUCE, FETCH, SHARE_FETCH})
READERS: dict[tuple[Any, int], ColumnsReader] = {}


class FrameGroup:
    """Frames of one API, version and direction."""

    def __init__(self, number: int, api_key: int, version: int, *, is_request: bool) -> None:
        self.number, self.api_key, self.version, self.is_request = number, api_key, version, is_request
        self.message = message_class(api_key, "request" if is_request else "response")
        header = request_header_version if is_request else response_header_version
        self.header = header(api_key, version)
        self.read: DecodedGroup | None = None
        self._reader: ColumnsReader | None = None
        if version not in self.message.valid_versions:
            raise ProtocolError(f"version {version}")

    @property
    def is_flexible(self) -> bool:
        """Whether the header has tagged fields."""
        return self.header == (2 if self.is_request else 1)

    def reader(self) -> ColumnsReader:
        if self._reader is None:
            fields = wanted_fields(self.api_key, is_request=self.is_request)
            self._reader = READERS.get((self.message, self.version))
            if self._reader is None:
                self._reader = READERS[self.message, self.version] = compile_columns(self.message, self.version, fields)
        return self._reader


class DecodedGroup(NamedTuple):
    """The frames of a group that wait, by their rows, and what they hold."""

    rows: Numbers
    columns: Columns


def has_plain_header(kind: RequestKind) -> bool:
    """Whether the header of such requests can be read, apart from tagged fields."""
    return bool(kind.fits) and (kind.client_id is None or kind.client_id.isascii())


class Emitted(NamedTuple):
    """Rows of one table and API, each with the number of the frame that it comes after."""

    numbers: Numbers
    rows: Numbers


class ColumnHandling(Handling):
    """The same with the groups of the frames of a kind; without a group they are read at once."""

    __slots__ = (
        "api",
        "api_name",
        "header_end",
        "may_be_alike",
        "requests",
        "responses",
        "with_requests",
        "with_responses",
    )

    def __init__(self, decoder: ColumnDecoder, kind: RequestKind) -> None:
        super().__init__(decoder, kind)
        self.api, self.api_name = decoder.api_number(kind.api_name), kind.api_name
        self.header_end = kind.header_end
        self.may_be_alike = self.on_response is None or kind.api_key in TELLING_RESPONSES
        """Whether responses that are the same bytes give the same rows, while nothing else is learned."""
        self.requests = decoder.group(kind, is_request=True)
        self.responses = decoder.group(kind, is_request=False)
        self.with_requests = decoder.way_of(kind, self.requests, tells=kind.api_key in TELLING_REQUESTS)
        self.with_responses = decoder.way_of(kind, self.responses, tells=kind.api_key in TELLING_RESPONSES)


TOGETHER, ALONE, AT_ONCE = 0, 1, 2
"""How frames are read: those of a group many at once; one by one, when all that wait are; or when they come."""


class ColumnDecoder(FrameDecoder):
    """As :class:`FrameDecoder`; rows are there after :meth:`finish`."""

    def __init__(self, state: ReadingState, rows: Rows, only: Iterable[str] = TABLES) -> None:
        super().__init__(state, rows, only)
        self.past = HistoricCluster(state.known)
        self.apis: dict[str, int] = {}
        self.groups: dict[tuple[int, int, bool], FrameGroup | None] = {}
        self.places: dict[CapturedConnection, tuple[int | None, int]] = {}
        self.scratch = Rows()
        self.scratch.shared = rows.shared
        self.traffic = TrafficRows(self)
        self.unknown_number: int | None = None
        self.begin()

    def begin(self) -> None:
        """Nothing waits."""
        self.pieces: list[WaitingFrames] = []
        self.count = 0
        """Rows of these."""
        self.numbers: dict[ColumnHandling, int] = {}
        """Of the kinds of these."""
        self.read_at_once: list[tuple[int, int, int]] = []
        """Row of a frame, how it was read, why it could not be."""
        self.passed_over: list[tuple[int, int, int, CapturedConnection, PendingRequest]] = []
        """Row of the frame behind them, when, place, connection and request."""
        self.alike = Alike()
        self.held_bytes = 0
        self.emitted: dict[tuple[str, str], list[Emitted]] = {}
        self.begin_frames()

    def begin_frames(self) -> None:
        """No frame that came by itself waits; what is known of those that do is as for pieces, by their number."""
        self.frames: list[Frame] = []
        self.frame_places: list[int] = []
        self.frame_times: list[int] = []
        self.frames_at_once: list[tuple[int, int, int]] = []
        self.frames_passed_over: list[tuple[int, int, int, CapturedConnection, PendingRequest]] = []

    def go_on(self) -> None:
        if self._forgotten != self.rows.forgotten:
            self.places.clear()
            self.unknown_number = None
        super().go_on()

    def handling(self, kind: RequestKind) -> ColumnHandling:
        found = self._handling.get(kind)
        if found is None:
            found = self._handling[kind] = ColumnHandling(self, kind)
        assert isinstance(found, ColumnHandling)
        return found

    def api_number(self, name: str) -> int:
        return self.apis.setdefault(name, len(self.apis))

    def group(self, kind: RequestKind, *, is_request: bool) -> FrameGroup | None:
        """The group for frames of a kind; None for those that are read at once."""
        makers = self.on_request if is_request else self.on_response
        by_columns = wanted_fields(kind.api_key, is_request=is_request)
        alone = kind.api_key in ONE_BY_ONE and not is_request
        if alone or not has_plain_header(kind) or (kind.api_key in makers and not by_columns):
            return None
        key = kind.api_key, kind.api_version, is_request
        if key not in self.groups:
            try:
                self.groups[key] = FrameGroup(len(self.groups), *key[:2], is_request=is_request)
            except ProtocolError:
                self.groups[key] = None
        return self.groups[key]

    @staticmethod
    def way_of(kind: RequestKind, group: FrameGroup | None, *, tells: bool) -> int:
        """How frames of a kind are read."""
        if group is not None and not tells:
            return TOGETHER
        return ALONE if kind.api_key in TRAFFIC else AT_ONCE

    def place_of(self, connection: CapturedConnection) -> int:
        found = self.places.get(connection)
        if found is None or found[0] != connection.broker:
            found = self.places[connection] = connection.broker, self.target.place(connection)
        return found[1]

    # -- as frames come ----------------------------------------------------------------------------------------------

    def decode(self, frame: Frame) -> None:
        """Take a frame; its rows come with :meth:`finish` at the latest."""
        self.past.follow(self.target.state.known)
        number, now = len(self.frames), self.past.clock.now
        connection = frame.connection
        if frame.passed_over:
            place = self.place_of(connection)
            self.frames_passed_over += [(number, now, place, connection, asked) for asked in frame.passed_over]
        if frame.index < 0:
            return
        self.rows.frames += 1
        self.frames.append(frame)
        self.frame_places.append(self.place_of(connection))
        self.frame_times.append(now)
        asked = frame.asked
        if asked is not None:
            handling = self.handling(asked.kind)
            if (handling.with_requests if frame.is_request else handling.with_responses) == AT_ONCE:
                self.frames_at_once.append((number, *self.read_as_it_comes(frame, handling)))
        self.held_bytes += len(frame.data)
        if self.count + number >= MAX_FRAMES or self.held_bytes > MAX_BYTES:
            self.finish()

    def read_as_it_comes(self, frame: Frame, handling: ColumnHandling) -> tuple[int, int]:
        """Read a frame that came by itself; of responses that are alike the first one only."""
        if frame.is_request or not handling.may_be_alike or len(frame.data) > MAX_ALIKE_BYTES:
            return self.read_frame(frame, handling)
        return self.read_alike(frame.data, (frame.connection, frame.ts, frame.index), handling, lambda: frame)

    def read_now(self, frame: Frame, asked: PendingRequest, handling: Handling) -> tuple[int, int]:
        """Read a frame as :class:`FrameDecoder` does; gives how it was read, and why it could not be."""
        error = self.body(self.target, frame, asked, handling)
        return self.way, NONE if error is None else self.rows.kept("string", error)

    def take_many(self, run: bytes | CapturedRows, offset: int, state: ReadingState) -> bool:
        """Take the frames of whole lines, or of rows, that begin at an offset; False where they want to be read one by
        one.
        """
        columns = of_text(run, offset, state) if isinstance(run, bytes) else of_rows(run, state)
        if columns is not None:
            self.decode_many(columns)
        return columns is not None

    def take_frames(self, frames: list[Frame]) -> None:
        """Take frames that stand one behind the other, each of which is joined already."""
        if not frames:
            return
        columns = of_frames([frame for frame in frames if frame.index >= 0])
        row = columns.carried
        for frame in frames:
            columns.passed_over += [(row, frame.connection, asked) for asked in frame.passed_over]
            row += frame.index >= 0
        self.decode_many(columns)

    def decode_many(self, columns: FrameColumns) -> None:
        """Take frames that stand one behind the other."""
        self.keep_frames()
        self.past.follow(self.target.state.known)
        base, clock = self.count, self.past.clock
        handlings = [self.handling(kind) for kind in columns.kinds]
        kind = self.kind_numbers(columns, handlings)
        at_once = self.rows_at_once(columns, handlings)
        opened = sorted(columns.opened, key=lambda one: one[0], reverse=True)
        changed, times = [0], [clock.now]
        of_rows = (column[at_once].tolist() for column in (columns.kind, columns.size, columns.is_request))
        for row, number, size, is_request in zip(at_once, *of_rows, strict=True):
            self.open(opened, row)
            how = self.read_row(columns, row, columns.kinds[number], size, is_request=is_request)
            self.read_at_once.append((base + row, *how))
            if clock.now != times[-1]:
                changed.append(row + 1)
                times.append(clock.now)
        self.open(opened, columns.count)
        time = np.array(times)[np.searchsorted(changed, np.arange(columns.count + 1), side="right") - 1]
        for row, connection, asked in columns.passed_over:
            self.passed_over.append((base + row, int(time[row]), self.place_of(connection), connection, asked))
        place = np.array([self.place_of(connection) for connection in columns.connections], np.int64)
        self.keep(WaitingFrames(columns, base, kind, place[columns.connection], time[:-1]))
        self.rows.frames += columns.count - columns.carried
        self.held_bytes += len(columns.data)
        if self.count >= MAX_FRAMES or self.held_bytes > MAX_BYTES:
            self.finish()

    def open(self, opened: list[tuple[int, CapturedConnection]], row: int) -> None:
        """Look up the racks of connections that were opened before a row; the last of them come first."""
        while opened and opened[-1][0] <= row:
            _, connection = opened.pop()
            broker = connection.broker
            connection.rack = self.target.known.racks.get(broker) if broker is not None else None

    def read_row(
        self, columns: FrameColumns, row: int, kind: RequestKind, size: int, *, is_request: bool
    ) -> tuple[int, int]:
        """Read a frame that has just come; of responses that are alike the first one only."""
        handling = self.handling(kind)
        if is_request or not handling.may_be_alike or size > MAX_ALIKE_BYTES:
            return self.read_frame(columns.frame(row), handling)
        connection = columns.connections[columns.connection[row]]
        own = connection, int(columns.ts[row]), int(columns.index[row])
        return self.read_alike(columns.bytes_of(row), own, handling, lambda: columns.frame(row))

    def read_alike(
        self,
        data: bytes,
        own: tuple[CapturedConnection, int, int],
        handling: ColumnHandling,
        frame_of: Callable[[], Frame],
    ) -> tuple[int, int]:
        """Read a response, or make the rows of one that is like it again. ``own``: connection, time and index."""
        clock, api = self.past.clock, handling.api_name
        body = data[4:]
        found = self.alike.get((handling, body, clock.now if handling.learns else 0))
        if found is None:
            before = lengths(self.rows, api)
            how = self.read_frame(frame_of(), handling)
            key = handling, body, clock.now if handling.learns else 0
            self.alike.add(key, len(data), ReadOnce(*how, rows_behind(self.rows, api, before)))
            return how
        if found.rows:
            connection, ts, index = own
            add_again(self.rows, api, found, Own(self.place_of(connection), ts, connection.broker, index))
        return found.way, found.text

    def read_frame(self, frame: Frame, handling: ColumnHandling) -> tuple[int, int]:
        """Read a frame that has just come."""
        assert frame.asked is not None
        return self.read_now(frame, frame.asked, handling)

    def rows_at_once(self, columns: FrameColumns, handlings: list[ColumnHandling]) -> list[int]:
        """The rows of frames that are read when they come."""
        ways = [[one.with_responses, one.with_requests] for one in handlings]
        way = np.array([*ways, [TOGETHER, TOGETHER]])[columns.kind, columns.is_request.astype(np.int64)]
        found: list[int] = np.flatnonzero(way[columns.carried :] == AT_ONCE).tolist()
        return [row + columns.carried for row in found]

    def kind_numbers(self, columns: FrameColumns, handlings: list[ColumnHandling]) -> Numbers:
        """The kinds of frames, by their numbers among all that wait."""
        numbers = [self.numbers.setdefault(handling, len(self.numbers)) for handling in handlings]
        found: Numbers = np.array([*numbers, -1], np.int64)[columns.kind]
        return found

    def keep(self, piece: WaitingFrames) -> None:
        self.pieces.append(piece)
        self.count += piece.columns.count

    def keep_frames(self) -> None:
        """Frames that came by themselves become a piece."""
        if not self.frames and not self.frames_passed_over:
            return
        base = self.count
        if self.frames:
            columns = of_frames(self.frames)
            base += columns.carried
            kind = self.kind_numbers(columns, [self.handling(kind) for kind in columns.kinds])
            nothing = [0] * columns.carried
            places, times = np.array([*nothing, *self.frame_places]), np.array([*nothing, *self.frame_times])
            self.keep(WaitingFrames(columns, self.count, kind, places, times))
        self.read_at_once += [(base + number, way, text) for number, way, text in self.frames_at_once]
        self.passed_over += [(base + one[0], *one[1:]) for one in self.frames_passed_over]
        self.begin_frames()

    # -- all that wait -----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Make the rows of all frames that wait."""
        self.keep_frames()
        if not self.pieces and not self.passed_over:
            return
        for row, time, place, connection, asked in self.passed_over:
            self.then(2 * row, time, place, lambda c=connection, a=asked: self.unanswered(c, a))
        if self.count:
            self.waiting = Waiting(self.pieces, [*self.numbers])
            self.make_rows(self.waiting)
        self.put_in_order()
        self.past.forget()
        if len(self.places) > MAX_PLACES:
            self.places.clear()
        self.begin()

    def make_rows(self, waiting: Waiting) -> None:
        """The rows of frames."""
        for row, way, text in self.read_at_once:
            waiting.way[row], waiting.text[row] = way, text
        self.traffic.begin()
        for group, rows in self.rows_by_group(waiting):
            group.read = None
            self.read_group(waiting, group, rows)
        alone = waiting.of_kinds([one.with_responses for one in waiting.handlings], TOGETHER)
        asking = waiting.of_kinds([one.with_requests for one in waiting.handlings], TOGETHER)
        for row in np.flatnonzero((np.where(waiting.is_request, asking, alone) == ALONE) & waiting.is_here).tolist():
            self.read_one(row)
        if self.frames_wanted:
            self.frame_rows(waiting)
        if self.calls_wanted:
            self.call_rows(waiting)

    def rows_by_group(self, waiting: Waiting) -> Iterator[tuple[FrameGroup, Numbers]]:
        """The frames that are read together, those of requests first."""
        groups: dict[int, FrameGroup] = {}
        numbers: list[list[int]] = []
        for handling in waiting.handlings:
            both = (handling.responses, handling.with_responses), (handling.requests, handling.with_requests)
            numbers.append([group.number if group is not None and way == TOGETHER else -1 for group, way in both])
            groups |= {group.number: group for group, _ in both if group is not None}
        number = np.array([*numbers, [-1, -1]])[waiting.kind, waiting.is_request.astype(np.int64)]
        order = np.argsort(number, kind="stable")
        number = number[order]
        bounds = np.flatnonzero(np.diff(number, prepend=-2)).tolist()
        found = [
            (groups[int(number[start])], order[start:end])
            for start, end in zip(bounds, [*bounds[1:], number.size], strict=True)
            if number[start] >= 0
        ]
        for group in groups.values():
            group.read = None
        yield from sorted(found, key=lambda one: (not one[0].is_request, one[0].number))

    def read_group(self, waiting: Waiting, group: FrameGroup, rows: Numbers) -> None:
        """Read frames of one kind together, and those that are odd one by one."""
        maker = (self.on_request if group.is_request else self.on_response).get(group.api_key)
        odd = rows
        if len(rows) >= MIN_FRAMES:
            if not self.frames_wanted and maker is None and not self.readers_ask(group):
                return
            columns = self.read_columns(waiting, group, rows)
            group.read = DecodedGroup(rows, columns)
            if maker is not None:
                self.traffic.add(waiting, group, rows, columns)
            odd = rows[columns.odd]
            self.note_ways(waiting, group, rows, columns)
        if not self.frames_wanted and maker is None:
            return
        for row in odd[waiting.is_here[odd]].tolist():
            self.read_one(row)

    def readers_ask(self, group: FrameGroup) -> bool:
        """Whether these are requests whose fields the rows of their answers have."""
        fields = wanted_fields(group.api_key, is_request=True)
        return group.is_request and bool(fields) and group.api_key in self.on_response and "fetches" in self.wanted

    def read_columns(self, waiting: Waiting, group: FrameGroup, rows: Numbers) -> Columns:
        """What frames hold; odd ones may have a header that is not plain."""
        start, views = waiting.start[rows], waiting.views
        if group.is_request:
            bodies = start + waiting.of_kinds([one.header_end for one in waiting.handlings], 0)[rows]
        else:
            bodies = start + 4
        columns = group.reader()(views, bodies + 1 if group.is_flexible else bodies, start + waiting.bytes[rows])
        if group.is_flexible:  # else there are tagged fields
            columns.odd[views.bytes[bodies] != 0] = True
        return columns

    def read_rows(self, waiting: Waiting, group: FrameGroup, rows: Numbers) -> DecodedGroup:
        """The frames of a group at some rows."""
        rows = np.unique(rows)
        return DecodedGroup(rows, self.read_columns(waiting, group, rows))

    def note_ways(self, waiting: Waiting, group: FrameGroup, rows: Numbers, columns: Columns) -> None:
        """How bodies were read."""
        handling, good = waiting.handling(int(rows[0])), ~columns.odd
        left_over = waiting.start[rows] + waiting.bytes[rows] - columns.end
        for left in np.unique(left_over[good]).tolist():
            way = handling.way(self.rows, group.is_request, left, group.version, group.header)
            waiting.way[rows[good & (left_over == left)]] = way

    def read_one(self, row: int) -> None:
        """Read an odd frame as :class:`FrameDecoder` does."""
        waiting = self.waiting
        frame, handling = waiting.frame(row), waiting.handling(row)

        def read() -> None:
            assert frame.asked is not None
            waiting.way[row], waiting.text[row] = self.read_now(frame, frame.asked, handling)

        self.then(2 * row + 1, int(waiting.time[row]), int(waiting.place[row]), read)

    def then(self, number: int, time: int, place: int, call: Any) -> None:
        """Make rows as they were to be made at that time."""
        now, self.target = (
            self.target,
            PastTarget(self.scratch, self.target.state, self.wanted, self.past.at(time), place),
        )
        try:
            call()
        finally:
            self.target = now
        for table, by_api in self.scratch.tables.items():
            for api, held in by_api.items():
                if held:
                    rows = np.frombuffer(bytes(held), np.int64).reshape(-1, len(ROWS[table]))
                    self.emit(table, api, np.full(len(rows), number), rows)
            by_api.clear()

    def emit(self, table: str, api: str, numbers: Numbers, rows: Numbers) -> None:
        """Add rows; ``numbers`` are twice those of their frames, and one more but for what was passed over."""
        self.emitted.setdefault((table, api), []).append(Emitted(numbers, rows))

    def put_in_order(self) -> None:
        """All rows to where they belong, in the order of their frames."""
        for (table, api), found in self.emitted.items():
            if len(found) == 1:
                rows = found[0].rows
            else:
                order = np.argsort(np.concatenate([one.numbers for one in found]), kind="stable")
                rows = np.concatenate([one.rows for one in found])[order]
            self.rows.tables[table][api] += rows.tobytes()

    # -- tables of all frames ----------------------------------------------------------------------------------------

    def unknown_kind(self) -> int:
        if self.unknown_number is None:
            self.unknown_number = self.rows.shared["kind"].number(NO_KIND)
        return self.unknown_number

    def frame_rows(self, waiting: Waiting) -> None:
        for row in np.flatnonzero(waiting.asked < 0).tolist():
            piece, at = waiting.at(row)
            direction = "request" if waiting.is_request[row] else "response"
            waiting.way[row] = self.rows.shared["way"].number((direction, 0, None, None))
            error = piece.errors.get(at)
            waiting.text[row] = NONE if error is None else self.rows.kept("string", error)
        handlings = waiting.handlings
        columns = (
            waiting.place,
            waiting.of_kinds([one.number for one in handlings], self.unknown_kind()),
            waiting.way,
            waiting.ts,
            np.where(waiting.correlation == NO_ID, NONE, waiting.correlation),
            waiting.size,
            waiting.text,
            waiting.index,
            waiting.offset,
        )
        apis = waiting.of_kinds([one.api for one in handlings], self.api_number(UNKNOWN))
        self.by_api("frames", apis[waiting.is_here], np.column_stack(columns)[waiting.is_here])

    def call_rows(self, waiting: Waiting) -> None:
        rows = np.flatnonzero(~waiting.is_request & (waiting.asked >= 0))
        asked, handlings = waiting.asked[rows], waiting.handlings
        columns = (
            waiting.place[rows],
            waiting.of_kinds([one.number for one in handlings])[rows],
            waiting.ts[asked],
            waiting.correlation[asked],
            waiting.ts[rows] - waiting.ts[asked],
            waiting.size[asked],
            waiting.size[rows],
            waiting.index[asked],
            waiting.index[rows],
        )
        self.by_api("calls", waiting.of_kinds([one.api for one in handlings])[rows], np.column_stack(columns))

    def by_api(self, table: str, apis: Numbers, rows: Numbers) -> None:
        """Rows to where those of their API are."""
        if not rows.size:
            return
        assert rows.itemsize == NUMBER_BYTES
        order = np.argsort(apis, kind="stable")
        apis, rows = apis[order], rows[order]
        bounds = np.flatnonzero(np.diff(apis, prepend=-1)).tolist()
        names = list(self.apis)
        for start, end in zip(bounds, [*bounds[1:], len(apis)], strict=True):
            self.rows.tables[table][names[int(apis[start])]] += rows[start:end].tobytes()
