"""Many frames at once, as columns: what :class:`.frames.ReadingState` does frame by frame, by operations on arrays.

A broker answers in order, so a connection's n-th answer is that to its n-th request. Where the correlation ids of a
connection's frames say so, all of them are joined together; those of any other connection one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafka_rack.wire_capture.checkpoints import UNREADABLE
from kafka_rack.wire_capture.frames import (
    MAX_ASKED,
    MAX_ASKED_BYTES,
    MIN_REQUEST_BYTES,
    MIN_RESPONSE_BYTES,
    PRODUCE,
    CapturedConnection,
    Frame,
    PendingRequest,
    ReadingState,
    RequestKind,
    acks_of,
    head_of,
    kind_of,
    no_request,
    short_request,
    short_response,
)
from kafka_rack.wire_capture.json_fields import LATEST
from kafka_rack.wire_capture.lines import DECODER, CaptureLine

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_rack.wire_capture.arrow_frames import CapturedRows

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
NO_ID = -(1 << 63)
"""In the place of a correlation id, of a frame that is too short for one."""
MAX_CARRIED_BYTES = 4 << 20
"""Of earlier requests that stand beside the frames of some lines."""
NULL_CLIENT_ID = 0xFFFF
HEAD_BYTES, MAX_COMPARED_CLIENT_ID_BYTES, MAX_HEAD_BYTES = 10, 64, 10 + (1 << 15)
"""Of a request's header before its client id; of client ids that are compared together; of any header."""
WORD_PARTS = np.array([(1 << (8 * count)) - 1 for count in range(9)], np.uint64)
"""The first bytes of a word, none to all."""
LINE_END = ord("\n")


class FrameBytes(NamedTuple):
    """Frames' bytes in pieces: put together, each frame is ``size`` of them from ``start`` on."""

    pieces: Sequence[bytes | memoryview]
    start: Numbers
    size: Numbers

    @classmethod
    def of(cls, data: Sequence[bytes]) -> FrameBytes:
        """Frames that are a piece each."""
        size = np.fromiter(map(len, data), np.int64, len(data))
        return cls(data, np.cumsum(size) - size, size)

    def behind(self, data: Sequence[bytes]) -> FrameBytes:
        """Some frames, and these behind them."""
        before = FrameBytes.of(data)
        start = self.start + before.size.sum()
        size = np.concatenate((before.size, self.size))
        return FrameBytes([*before.pieces, *self.pieces], np.concatenate((before.start, start)), size)


class FrameColumns:
    """Frames that stand one behind the other in a capture; every column has an element a row.

    The first ``carried`` rows are requests from before, which frames here answer. ``data`` holds all frames without
    their lengths, that of a row from ``start`` on and of ``size`` bytes. ``kind`` and ``connection`` are numbers in
    ``kinds`` and ``connections``, ``asked`` is the row of the request that a frame is or answers; -1 is none.

    ``errors``: by row, of frames without a request. ``passed_over``: a row, and a request that will not be answered,
    as is known before that row. ``opened``: a row, and a connection that is opened before it, whose rack is still to be
    looked up.
    """

    def __init__(self, data: FrameBytes, carried: int = 0) -> None:
        self.carried = carried
        self.size, self.start = data.size, data.start
        self.data = b"".join([*data.pieces, bytes(16)])
        self.ts: Numbers
        self.index: Numbers
        self.offset: Numbers
        self.correlation: Numbers
        self.is_request: Flags
        self.kind: Numbers
        self.kinds: list[RequestKind] = []
        self.connection: Numbers
        self.connections: list[CapturedConnection] = []
        self.asked: Numbers
        self.errors: dict[int, str] = {}
        self.passed_over: list[tuple[int, CapturedConnection, PendingRequest]] = []
        self.opened: list[tuple[int, CapturedConnection]] = []
        self._asked: dict[int, PendingRequest] = {}

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.size.size

    def bytes_of(self, row: int) -> bytes:
        start = int(self.start[row])
        return self.data[start : start + int(self.size[row])]

    def data_at(self, positions: Numbers) -> Numbers:
        """The bytes at some places."""
        found: Numbers = np.frombuffer(self.data, np.uint8)[positions].astype(np.int64)
        return found

    def asked_of(self, row: int) -> PendingRequest:
        """The request of a row, one object each."""
        found = self._asked.get(row)
        if found is None:
            numbers = int(self.index[row]), int(self.ts[row]), int(self.correlation[row])
            kind, offset, size = self.kinds[self.kind[row]], int(self.offset[row]), int(self.size[row])
            found = self._asked[row] = PendingRequest(*numbers, self.bytes_of(row), kind, None, offset, size)
        return found

    def frame(self, row: int) -> Frame:
        """The frame of a row."""
        asked, correlation_id = int(self.asked[row]), int(self.correlation[row])
        return Frame(
            int(self.index[row]),
            int(self.ts[row]),
            self.connections[self.connection[row]],
            bool(self.is_request[row]),
            self.bytes_of(row),
            self.asked_of(asked) if asked >= 0 else None,
            correlation_id if correlation_id != NO_ID else None,
            self.errors.get(row),
            int(self.offset[row]),
        )


def of_frames(frames: Sequence[Frame]) -> FrameColumns:
    """Frames that are joined already."""
    own = {id(frame.asked): number for number, frame in enumerate(frames) if frame.is_request and frame.asked}
    carried = {
        id(frame.asked): frame.asked for frame in frames if frame.asked is not None and id(frame.asked) not in own
    }
    before, first = list(carried.values()), len(carried)
    rows = {**{key: row for row, key in enumerate(carried)}, **{key: row + first for key, row in own.items()}}
    found = FrameColumns(FrameBytes.of([*[asked.data for asked in before], *[frame.data for frame in frames]]), first)
    found._asked = {rows[key]: asked for key, asked in carried.items()}
    found._asked |= {rows[id(frame.asked)]: frame.asked for frame in frames if frame.is_request and frame.asked}

    def column(early: Iterable[Any], late: Iterable[Any], kind: Any = np.int64) -> Any:
        return np.array([*early, *late], kind)

    found.ts = column([asked.ts for asked in before], [frame.ts for frame in frames])
    found.index = column([asked.frame for asked in before], [frame.index for frame in frames])
    found.offset = column([asked.offset for asked in before], [frame.offset for frame in frames])
    found.correlation = column(
        [asked.correlation_id for asked in before],
        [NO_ID if frame.correlation_id is None else frame.correlation_id for frame in frames],
    )
    found.is_request = column([True] * first, [frame.is_request for frame in frames], np.bool_)
    found.asked = column(range(first), [rows[id(frame.asked)] if frame.asked else -1 for frame in frames])
    kinds: dict[RequestKind, int] = {}
    connections: dict[CapturedConnection, int] = {}
    for frame in frames:
        connections.setdefault(frame.connection, len(connections))
        if frame.asked is not None:
            kinds.setdefault(frame.asked.kind, len(kinds))
    whose = {id(frame.asked): connections[frame.connection] for frame in frames}
    found.kinds, found.connections = list(kinds), list(connections)
    found.kind = column(
        [kinds[asked.kind] for asked in before], [kinds[frame.asked.kind] if frame.asked else -1 for frame in frames]
    )
    found.connection = column([whose[key] for key in carried], [connections[frame.connection] for frame in frames])
    found.errors = {row + first: frame.error for row, frame in enumerate(frames) if frame.error is not None}
    return found


def of_text(text: bytes, offset: int, state: ReadingState) -> FrameColumns | None:
    """The frames of whole lines that begin at an offset, as :func:`of_lines` has them."""
    try:
        lines = DECODER.decode_lines(text)
    except UNREADABLE:
        return None
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == LINE_END) + 1
    if ends.size != len(lines) or not ends.size or ends[-1] != len(text):
        return None
    return of_lines(lines, offset + np.concatenate(([0], ends[:-1])), state)


def of_lines(lines: Sequence[CaptureLine], offsets: Numbers, state: ReadingState) -> FrameColumns | None:
    """The frames of a capture's lines, joined; ``state`` goes along, without what they tell of the cluster.

    None where these lines want to be read one by one, since they tell what stands at a file's head, are damaged, name a
    connection that begins or ends more than once, or hold so many requests that some may have to be given up: ``state``
    is as it was then.
    """
    frames, event_lines = [], []
    for at, line in enumerate(lines):
        if line.dir is None and line.ev is not None:
            event_lines.append((at, line))
        else:
            frames.append(line)
    numbers, data = [line.conn for line in frames], [line.data for line in frames]
    directions, said = {line.dir for line in frames}, [line.n for line in frames]
    if not directions <= {"req", "resp"} or None in numbers or any(one is None for one in data):
        return None
    if any(size is not None and size != len(one) for size, one in zip(said, data, strict=True)):  # type: ignore[arg-type]
        return None
    is_frame = np.ones(len(lines), np.bool_)
    is_frame[[at for at, _ in event_lines]] = False
    found = FrameRows(
        np.array([line.t for line in frames], np.int64),
        np.array(numbers, np.int64),
        np.array([line.dir == "req" for line in frames], np.bool_),
        FrameBytes.of([one for one in data if one is not None]),
        offsets[is_frame],
    )
    return joined(found, event_lines, state)


def of_rows(rows: CapturedRows, state: ReadingState) -> FrameColumns | None:
    """The frames of rows, as :func:`of_lines` has them."""
    batch = rows.batch
    lines, data = batch.column("line"), batch.column("data")
    is_frame = flags_of(lines.is_null())
    needed = [batch.column(name) for name in ("ts", "connection", "is_request")]
    if any(column.null_count and flags_of(column.is_null())[is_frame].any() for column in (*needed, data)):
        return None
    event_lines = []
    for at in np.flatnonzero(~is_frame).tolist():
        try:
            line = DECODER.decode(lines[at].as_py())
        except UNREADABLE:
            return None
        if line.dir is not None or line.ev is None:
            return None
        event_lines.append((at, line))
    ts = numbers_of(rows.times())[is_frame]
    if ts.size and not 0 <= ts.min() <= ts.max() <= LATEST:
        return None
    _, offsets, content = data.buffers()
    edges = np.frombuffer(offsets, np.int64, len(data) + 1, 8 * data.offset)
    piece = memoryview(content)[int(edges[0]) : int(edges[-1])] if content is not None else memoryview(b"")
    found = FrameRows(
        ts,
        numbers_of(batch.column("connection"))[is_frame],
        flags_of(batch.column("is_request"))[is_frame],
        FrameBytes([piece], (edges[:-1] - edges[0])[is_frame], np.diff(edges)[is_frame]),
        np.frombuffer(rows.positions, np.int64)[is_frame],
    )
    return joined(found, event_lines, state)


def numbers_of(column: pa.Int64Array) -> Numbers:
    """A column's numbers; 0 in the place of null."""
    found: Numbers = column.fill_null(0).to_numpy()
    return found


def flags_of(column: pa.BooleanArray) -> Flags:
    """A column's flags; False in the place of null."""
    found: Flags = column.fill_null(False).to_numpy(zero_copy_only=False)
    return found


class FrameRows(NamedTuple):
    """Frames that are not joined yet; every column has an element a frame. ``number`` is the connection's."""

    ts: Numbers
    number: Numbers
    is_request: Flags
    data: FrameBytes
    offset: Numbers


def joined(
    frames: FrameRows, event_lines: Sequence[tuple[int, CaptureLine]], state: ReadingState
) -> FrameColumns | None:
    """Frames joined, with the events between them, each with its number among frames and events; None as above."""
    by_number, connection = np.unique(frames.number, return_inverse=True)
    events = Events(by_number.tolist(), connection, state)
    for before, (at, line) in enumerate(event_lines):
        if not events.take(at - before, line):
            return None
    if wait_too_much(by_number.tolist(), connection, frames.is_request, frames.data.size, state):
        return None
    return join(frames, connection, events, state)


def wait_too_much(
    numbers: list[int], connection: Numbers, is_request: Flags, sizes: Numbers, state: ReadingState
) -> bool:
    """Whether requests may have to be given up, or so many wait that it is dear to have them beside the frames."""
    whose = connection[is_request]
    counts = np.bincount(whose, minlength=len(numbers)).tolist()
    added = np.bincount(whose, sizes[is_request], len(numbers)).tolist()
    held = 0
    for number, count, size in zip(numbers, counts, added, strict=True):
        known = state.connections.get(number)
        requests, request_bytes = (len(known.asked), known.asked_bytes) if known is not None else (0, 0)
        held += request_bytes
        if requests + count > MAX_ASKED or request_bytes + size > MAX_ASKED_BYTES or held > MAX_CARRIED_BYTES:
            return True
    return False


class Events:
    """Connections that begin and end between frames; ``rows`` counts the frames before each."""

    def __init__(self, numbers: list[int], connection: Numbers, state: ReadingState) -> None:
        self.numbers, self.state = numbers, state
        self.opened: dict[int, tuple[int, CapturedConnection]] = {}
        self.closed: dict[int, int] = {}
        rows = np.arange(connection.size)
        first, last = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.int64)
        first[connection[::-1]] = rows[::-1]
        last[connection] = rows
        self.spans = dict(zip(numbers, zip(first.tolist(), last.tolist(), strict=True), strict=True))

    def take(self, row: int, line: CaptureLine) -> bool:
        """Note an event before a frame; False if it cannot stand among frames that are read together."""
        number = line.conn
        if line.ev in ("capture", "topic", "asked"):
            return False
        if number is None or line.ev not in ("open", "close"):
            return True
        first, last = self.spans.get(number, (row, row - 1))
        if number in self.closed:
            return False
        if line.ev == "close":
            self.closed[number] = row
            return last < row
        if number in self.opened or number in self.state.connections:
            return False
        self.opened[number] = row, CapturedConnection(number, line.broker, None, line.client, line.listener)
        return first >= row

    def connections(self) -> list[CapturedConnection]:
        """Those of the frames, by their numbers. From here on the state knows them."""
        known = self.state.connections
        known.update({number: connection for number, (_, connection) in self.opened.items()})
        return [known.get(number) or known.setdefault(number, CapturedConnection(number)) for number in self.numbers]

    def end(self, found: FrameColumns) -> None:
        """Leave what has ended, and note what was unanswered then."""
        found.opened = [(row + found.carried, connection) for row, connection in self.opened.values()]
        ended = []
        for number, row in self.closed.items():
            gone = self.state.connections.pop(number, None)
            if gone is not None and gone.asked:
                ended += [(row + found.carried, gone, asked) for asked in gone.asked.values()]
        found.passed_over = sorted(ended + found.passed_over, key=lambda one: one[0])


def join(frames: FrameRows, connection: Numbers, events: Events, state: ReadingState) -> FrameColumns:
    """Frames, each joined to its request."""
    connections = events.connections()
    answered = np.zeros(len(connections), np.bool_)
    answered[connection[~frames.is_request]] = True
    waiting = [
        (number, asked) for number in np.flatnonzero(answered).tolist() for asked in connections[number].asked.values()
    ]
    carried, count = len(waiting), frames.ts.size
    before = [asked for _, asked in waiting]
    found = FrameColumns(frames.data.behind([asked.data for asked in before]), carried)
    found._asked = dict(enumerate(before))
    found.connections = connections
    found.connection = np.concatenate((np.array([number for number, _ in waiting], np.int64), connection))
    found.is_request = np.concatenate((np.ones(carried, np.bool_), frames.is_request))
    found.ts = np.concatenate((np.array([asked.ts for asked in before], np.int64), frames.ts))
    found.offset = np.concatenate((np.array([asked.offset for asked in before], np.int64), frames.offset))
    indexes = np.arange(state.frames, state.frames + count)
    found.index = np.concatenate((np.array([asked.frame for asked in before], np.int64), indexes))
    state.frames += count
    ResponseJoin(found, answered).join()
    events.end(found)
    return found


def alike_heads(found: FrameColumns, rows: Numbers) -> tuple[Numbers, Numbers]:
    """Requests of which each stands for others with the same header but for the id, and which that is for each row.

    Those with a long client id, or one that does not fit, stand for themselves.
    """
    start, size = found.start[rows], found.size[rows]
    words = np.ndarray((len(found.data) - 7,), "<u8", found.data, 0, (1,))
    low = words[start]
    length = np.where(
        size >= HEAD_BYTES, found.data_at(start + 8) << 8 | found.data_at(start + 9), MAX_COMPARED_CLIENT_ID_BYTES + 1
    )
    is_null = length == NULL_CLIENT_ID
    plain = is_null | ((length <= MAX_COMPARED_CLIENT_ID_BYTES) & (size >= HEAD_BYTES + length))
    keys = [low & 0xFFFFFFFF, np.where(plain, length, -1 - np.arange(rows.size)).astype(np.uint64)]
    length = np.where(plain & ~is_null, length, 0)
    for at in range(0, int(length.max(initial=0)), 8):
        inside = np.clip(length - at, 0, 8)
        place = np.where(inside > 0, start + HEAD_BYTES + at, 0)
        keys.append(words[place] & WORD_PARTS[inside])
    order = np.lexsort(keys)
    differs = np.zeros(rows.size, np.bool_)
    differs[:1] = True
    for key in keys:
        differs[1:] |= key[order[1:]] != key[order[:-1]]
    alike = np.empty(rows.size, np.int64)
    alike[order] = np.cumsum(differs) - 1
    return order[differs], alike


class ResponseJoin:
    """Joins answers to requests; ``answered`` are the connections that have any."""

    def __init__(self, found: FrameColumns, answered: Flags) -> None:
        self.found, self.answered = found, answered
        ids = np.ndarray((len(found.data) - 3,), ">i4", found.data, 0, (1,))
        found.correlation = ids[found.start + np.where(found.is_request, 4, 0)].astype(np.int64)
        self.short: Flags = found.size < np.where(found.is_request, MIN_REQUEST_BYTES, MIN_RESPONSE_BYTES)
        found.correlation[self.short] = NO_ID
        found.asked = np.where(found.is_request & ~self.short, np.arange(found.count), -1)
        self.waits = found.asked >= 0
        self.name_kinds()

    def name_kinds(self) -> None:
        """The kind of each request; the number of none is -1."""
        found, data = self.found, self.found.data
        rows = np.flatnonzero(found.asked >= 0)
        firsts, alike = alike_heads(found, rows)
        heads: dict[bytes, int] = {}
        kinds: list[int] = []
        produces = set()
        starts, ends = found.start[rows[firsts]].tolist(), (found.start + found.size)[rows[firsts]].tolist()
        for start, end in zip(starts, ends, strict=True):
            head = head_of(data[start : min(end, start + MAX_HEAD_BYTES)])
            number = heads.get(head)
            if number is None:
                number = heads[head] = len(heads)
                kind = kind_of(head)
                found.kinds.append(kind)
                if kind.api_key == PRODUCE:
                    produces.add(number)
            kinds.append(number)
        found.kind = np.full(found.count, -1)
        found.kind[rows] = np.array(kinds, np.int64)[alike]
        for row in np.flatnonzero(np.isin(found.kind, [*produces])).tolist():
            kind = found.kinds[found.kind[row]]
            self.waits[row] = acks_of(found.bytes_of(row), kind.api_version, kind.header_end) != 0

    def join(self) -> None:
        """Join all that is in order, then the rest."""
        found, count = self.found, len(self.found.connections)
        whose = found.connection
        asking, answers = np.flatnonzero(self.waits), np.flatnonzero(~found.is_request)
        asking = asking[np.argsort(whose[asking], kind="stable")]
        answers = answers[np.argsort(whose[answers], kind="stable")]
        asked_by, answered_by = whose[asking], whose[answers]
        asked_counts, answer_counts = np.bincount(asked_by, minlength=count), np.bincount(answered_by, minlength=count)
        first = np.cumsum(asked_counts) - asked_counts
        turn = np.arange(answers.size) - (np.cumsum(answer_counts) - answer_counts)[answered_by]
        fits = turn < asked_counts[answered_by]
        if asking.size:
            request = asking[np.minimum(first[answered_by] + turn, asking.size - 1)]
            fits &= (request < answers) & (found.correlation[request] == found.correlation[answers])
        else:
            request = np.zeros_like(answers)
        odd = np.zeros(count, np.bool_)
        odd[answered_by[~fits]] = True
        odd[whose[self.short]] = True
        ids = np.sort((asked_by << 32) | (found.correlation[asking] & 0xFFFFFFFF))
        odd[ids[1:][ids[1:] == ids[:-1]] >> 32] = True
        good = ~odd[answered_by]
        found.asked[answers[good]] = request[good]
        ends = first + asked_counts
        left = first + answer_counts
        for number in np.flatnonzero(~odd & ((asked_counts > answer_counts) | self.answered)).tolist():
            connection = found.connections[number]
            rest = asking[left[number] : ends[number]].tolist()
            if self.answered[number]:
                connection.wait_for_none()
            for row in rest:
                connection.wait_for(found.asked_of(row))
        for number in np.flatnonzero(odd).tolist():
            self.in_turn(number, np.flatnonzero(whose == number).tolist())
        answered = found.asked >= 0
        found.kind[answered] = found.kind[found.asked[answered]]

    def in_turn(self, number: int, rows: list[int]) -> None:
        """Join the frames of one connection one after the other."""
        found = self.found
        connection = found.connections[number]
        if not self.answered[number]:
            for row in rows:
                if self.waits[row]:
                    connection.wait_for(found.asked_of(row))
                elif found.asked[row] < 0:
                    found.errors[row] = short_request(int(found.size[row]))
            return
        waiting: dict[int, int] = {}
        for row in rows:
            id_, size = int(found.correlation[row]), int(found.size[row])
            if found.is_request[row]:
                if found.asked[row] < 0:
                    found.errors[row] = short_request(size)
                elif self.waits[row]:
                    waiting.pop(id_, None)
                    waiting[id_] = row
                continue
            if size < MIN_RESPONSE_BYTES:
                found.errors[row] = short_response(size)
                continue
            asked = waiting.pop(id_, None)
            if asked is None:
                found.errors[row] = no_request(id_, connection)
                continue
            found.asked[row] = asked
            while waiting:  # brokers answer in order, so what was asked before will not be answered any more
                first_id, first = next(iter(waiting.items()))
                if found.index[first] > found.index[asked]:
                    break
                del waiting[first_id]
                found.passed_over.append((row, connection, found.asked_of(first)))
        connection.wait_for_none()
        for row in waiting.values():
            connection.wait_for(found.asked_of(row))
