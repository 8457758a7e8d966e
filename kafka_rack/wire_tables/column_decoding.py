"""Frames to rows, many at once: the same rows as :class:`.decoding.FrameDecoder` gives.

Frames wait until there are ``MAX_FRAMES`` of them. Then those of one API, version and direction are read together by a
column reader of :mod:`protocol.compiler.columns`, and become rows by operations on arrays. What tells about the
cluster, and the few kinds with rows of their own shape, are read at once, one by one; so are, when their turn comes,
frames that a column reader finds odd. Rows see what was known at their frame: :mod:`.history` has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from kafka_rack.wire_capture.frames import (
    API_VERSIONS,
    FETCH,
    LENGTH_BYTES,
    PRODUCE,
    SHARE_FETCH,
    Asked,
    Connection,
    Frame,
    RequestKind,
    State,
)
from kafka_rack.wire_capture.learning import TELLING_REQUESTS, TELLING_RESPONSES
from kafka_rack.wire_tables.column_traffic import Traffic, wanted_fields
from kafka_rack.wire_tables.decoding import NO_KIND, FrameDecoder, Handling
from kafka_rack.wire_tables.history import HistoricKnown
from kafka_rack.wire_tables.rows import NONE, NUMBER_BYTES, ROWS, UNKNOWN, PastTarget, Rows
from kafka_rack.wire_tables.tables import TABLES
from protocol.compiler.column_reading import Columns, Flags, Numbers, Views, joined
from protocol.compiler.columns import ColumnsReader, compile_columns
from protocol.errors import ProtocolError
from protocol.headers import request_header_version, response_header_version
from protocol.registry import message_class

MAX_FRAMES = 50_000
MAX_BYTES = 32 << 20
"""Of frames that wait to be read together."""
MAX_PLACES = 10_000
MIN_FRAMES = 24
"""Of one kind that are worth a column reader."""
ONE_BY_ONE = frozenset({API_VERSIONS})
"""APIs whose responses are read in more than one version."""


TRAFFIC = frozenset({PRODUCE, FETCH, SHARE_FETCH})


class Group:
    """The frames of one API, version and direction that wait; ``members`` are their numbers among all that wait."""

    def __init__(self, api_key: int, version: int, *, is_request: bool) -> None:
        self.api_key, self.version, self.is_request = api_key, version, is_request
        self.message = message_class(api_key, "request" if is_request else "response")
        header = request_header_version if is_request else response_header_version
        self.header = header(api_key, version)
        self.members: list[int] = []
        self._reader: ColumnsReader | None = None
        if version not in self.message.valid_versions:
            raise ProtocolError(f"version {version}")

    def reader(self) -> ColumnsReader:
        if self._reader is None:
            fields = wanted_fields(self.api_key, is_request=self.is_request)
            self._reader = READERS.get((self.message, self.version))
            if self._reader is None:
                self._reader = READERS[self.message, self.version] = compile_columns(self.message, self.version, fields)
        return self._reader

    def read(self, frames: list[bytes], kinds: list[RequestKind]) -> tuple[Views, Numbers, Numbers, Columns]:
        """The frames, where each begins and ends, and their columns; odd ones may have a header that is not plain."""
        views, starts, ends = joined(frames)
        if self.is_request:
            bodies = starts + np.fromiter((kind.header_end for kind in kinds), np.int64, len(kinds))
            flexible = self.header == 2
        else:
            bodies = starts + 4
            flexible = self.header == 1
        columns = self.reader()(views, bodies + 1 if flexible else bodies, ends)
        if flexible:  # else there are tagged fields
            columns.odd[views.bytes[bodies] != 0] = True
        return views, starts, ends, columns


READERS: dict[tuple[Any, int], ColumnsReader] = {}


def has_plain_header(kind: RequestKind) -> bool:
    """Whether the header of such requests can be read, apart from tagged fields."""
    return bool(kind.fits) and (kind.client_id is None or kind.client_id.isascii())


class Emitted(NamedTuple):
    """Rows of one table and API, each with the number of the frame that it comes after."""

    numbers: Numbers
    rows: Numbers


class ColumnHandling(Handling):
    """The same with the groups of the frames of a kind; without a group they are read at once."""

    __slots__ = ("api", "requests", "responses")

    def __init__(self, decoder: ColumnDecoder, kind: RequestKind) -> None:
        super().__init__(decoder, kind)
        self.api = decoder.api_number(kind.api_name)
        self.requests = decoder.group(kind, is_request=True)
        self.responses = decoder.group(kind, is_request=False)


class ColumnDecoder(FrameDecoder):
    """As :class:`FrameDecoder`; rows are there after :meth:`finish`."""

    def __init__(self, state: State, rows: Rows, only: Iterable[str] = TABLES) -> None:
        super().__init__(state, rows, only)
        self.past = HistoricKnown(state.known)
        self.apis: dict[str, int] = {}
        self.groups: dict[tuple[int, int, bool], Group | None] = {}
        self.places: dict[Connection, tuple[int | None, int]] = {}
        self.scratch = Rows()
        self.scratch.shared = rows.shared
        self.traffic = Traffic(self)
        self.unknown_number: int | None = None
        self.begin()

    def begin(self) -> None:
        """Nothing waits."""
        self.frames: list[Frame] = []
        self.handlings: list[ColumnHandling | None] = []
        self.place_numbers: list[int] = []
        self.times: list[int] = []
        self.read_at_once: list[tuple[int, int, int]] = []
        """Number of a frame, how it was read, why it could not be."""
        self.alone: list[int] = []
        """Frames without a group whose rows have their place among those of frames that wait."""
        self.passed_over: list[tuple[int, int, int, Connection, Asked]] = []
        """Number of the frame behind them, when, place, connection and request."""
        self.held_bytes = 0
        self.emitted: dict[tuple[str, str], list[Emitted]] = {}

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

    def group(self, kind: RequestKind, *, is_request: bool) -> Group | None:
        """The group for frames of a kind; None for those that are read at once."""
        makers = self.on_request if is_request else self.on_response
        by_columns = wanted_fields(kind.api_key, is_request=is_request)
        alone = kind.api_key in ONE_BY_ONE and not is_request
        if alone or not has_plain_header(kind) or (kind.api_key in makers and not by_columns):
            return None
        key = kind.api_key, kind.api_version, is_request
        if key not in self.groups:
            try:
                self.groups[key] = Group(*key[:2], is_request=is_request)
            except ProtocolError:
                self.groups[key] = None
        return self.groups[key]

    def place_of(self, connection: Connection) -> int:
        found = self.places.get(connection)
        if found is None or found[0] != connection.broker:
            found = self.places[connection] = connection.broker, self.target.place(connection)
        return found[1]

    # -- frame by frame ----------------------------------------------------------------------------------------------

    def decode(self, frame: Frame) -> None:
        """Take a frame; its rows come with :meth:`finish` at the latest."""
        self.past.follow(self.target.state.known)
        number = len(self.frames)
        connection = frame.connection
        if frame.passed_over:
            place = self.place_of(connection)
            now = self.past.clock.now
            self.passed_over += [(number, now, place, connection, asked) for asked in frame.passed_over]
        if frame.index < 0:
            return
        self.rows.frames += 1
        found = self.places.get(connection)
        place = found[1] if found is not None and found[0] == connection.broker else self.place_of(connection)
        asked = frame.asked
        handling = None
        self.frames.append(frame)
        self.place_numbers.append(place)
        self.times.append(self.past.clock.now)
        if asked is not None:
            found_handling = self._handling.get(asked.kind)
            handling = found_handling if found_handling is not None else self.handling(asked.kind)
            group = handling.requests if frame.is_request else handling.responses  # type: ignore[attr-defined]
            if group is not None and not (handling.learns and self.learns_from(frame, asked)):
                group.members.append(number)
            elif asked.kind.api_key in TRAFFIC:
                self.alone.append(number)
            else:
                error = self.body(self.target, frame, asked, handling)
                text = NONE if error is None else self.rows.kept("string", error)
                self.read_at_once.append((number, self.way, text))
        self.handlings.append(handling)  # type: ignore[arg-type]
        self.held_bytes += len(frame.data)
        if number >= MAX_FRAMES or self.held_bytes > MAX_BYTES:
            self.finish()

    def learns_from(self, frame: Frame, asked: Asked) -> bool:
        """Whether a frame may tell about the cluster."""
        return asked.kind.api_key in (TELLING_REQUESTS if frame.is_request else TELLING_RESPONSES)

    # -- all that wait -----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Make the rows of all frames that wait."""
        count = len(self.frames)
        if not count and not self.passed_over:
            return
        self.ways = np.full(count, NONE, np.int64)
        self.texts = np.full(count, NONE, np.int64)
        for number, way, text in self.read_at_once:
            self.ways[number], self.texts[number] = way, text
        self.as_arrays()
        for number, time, place, connection, asked in self.passed_over:
            self.then(2 * number, time, place, lambda c=connection, a=asked: self.unanswered(c, a))
        self.traffic.begin()
        for group in sorted(
            (group for group in self.groups.values() if group is not None and group.members),
            key=lambda group: not group.is_request,
        ):
            self.read_group(group)
            group.members = []
        for number in self.alone:
            self.read_one(number)
        if self.frames_wanted:
            self.frame_rows()
        if self.calls_wanted:
            self.call_rows()
        self.put_in_order()
        self.past.forget()
        if len(self.places) > MAX_PLACES:
            self.places.clear()
        self.begin()

    def as_arrays(self) -> None:
        """What is known of every frame without its body."""
        frames, count = self.frames, len(self.frames)
        self.place = np.array(self.place_numbers, np.int64)
        self.time = np.array(self.times, np.int64)
        self.ts = np.fromiter((frame.ts for frame in frames), np.int64, count)
        self.index = np.fromiter((frame.index for frame in frames), np.int64, count)
        self.size = np.fromiter((len(frame.data) for frame in frames), np.int64, count) + LENGTH_BYTES
        unknown = self.unknown_kind()
        self.kind = np.fromiter((one.number if one is not None else unknown for one in self.handlings), np.int64, count)

    def unknown_kind(self) -> int:
        if self.unknown_number is None:
            self.unknown_number = self.rows.shared["kind"].number(NO_KIND)
        return self.unknown_number

    def read_group(self, group: Group) -> None:
        """Read frames of one kind together, and those that are odd one by one."""
        frames = [self.frames[number] for number in group.members]
        members = np.array(group.members)
        odd = members
        maker = (self.on_request if group.is_request else self.on_response).get(group.api_key)
        handling = self.handlings[group.members[0]]
        assert handling is not None
        if not self.frames_wanted and maker is None:
            return
        if len(frames) >= MIN_FRAMES:
            kinds = [frame.asked.kind for frame in frames if frame.asked is not None]
            views, _, ends, columns = group.read([frame.data for frame in frames], kinds)
            if maker is not None:
                self.traffic.add(group, members, frames, views, columns)
            odd = members[columns.odd]
            self.note_ways(handling, group, members, ends - columns.end, ~columns.odd)
        for number in odd.tolist():
            self.read_one(number)

    def note_ways(self, handling: Handling, group: Group, members: Numbers, left_over: Numbers, good: Flags) -> None:
        """How bodies were read."""
        for left in np.unique(left_over[good]).tolist():
            way = handling.way(self.rows, group.is_request, left, group.version, group.header)
            self.ways[members[good & (left_over == left)]] = way

    def read_one(self, number: int) -> None:
        """Read an odd frame as :class:`FrameDecoder` does."""
        frame, handling = self.frames[number], self.handlings[number]
        asked = frame.asked
        assert asked is not None
        assert handling is not None

        def read() -> None:
            error = self.body(self.target, frame, asked, handling)
            self.ways[number] = self.way
            self.texts[number] = NONE if error is None else self.rows.kept("string", error)

        self.then(2 * number + 1, self.times[number], self.place_numbers[number], read)

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
                    held.clear()

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

    def frame_rows(self) -> None:
        frames, count = self.frames, len(self.frames)
        for number, frame in enumerate(frames):
            if frame.asked is None:
                direction = "request" if frame.is_request else "response"
                self.ways[number] = self.rows.shared["way"].number((direction, 0, None, None))
                self.texts[number] = NONE if frame.error is None else self.rows.kept("string", frame.error)
        correlation = np.fromiter(
            (NONE if frame.correlation_id is None else frame.correlation_id for frame in frames), np.int64, count
        )
        offset = np.fromiter((frame.offset for frame in frames), np.int64, count)
        columns = self.place, self.kind, self.ways, self.ts, correlation, self.size, self.texts, self.index, offset
        unknown = self.api_number(UNKNOWN)
        apis = [one.api if one is not None else unknown for one in self.handlings]
        self.by_api("frames", np.array(apis), np.column_stack(columns))

    def call_rows(self) -> None:
        answered = [number for number, frame in enumerate(self.frames) if frame.asked and not frame.is_request]
        if not answered:
            return
        asked = [self.frames[number].asked for number in answered]
        numbers, count = np.array(answered), len(answered)
        ts = np.fromiter((one.ts for one in asked if one), np.int64, count)
        columns = (
            self.place[numbers],
            self.kind[numbers],
            ts,
            np.fromiter((one.correlation_id for one in asked if one), np.int64, count),
            self.ts[numbers] - ts,
            np.fromiter((len(one.data) for one in asked if one), np.int64, count) + LENGTH_BYTES,
            self.size[numbers],
            np.fromiter((one.frame for one in asked if one), np.int64, count),
            self.index[numbers],
        )
        apis = [one.api for one in map(self.handlings.__getitem__, answered) if one is not None]
        self.by_api("calls", np.array(apis), np.column_stack(columns))

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
