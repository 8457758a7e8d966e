"""Rows of Produce, Fetch and ShareFetch for many frames at once: what :mod:`.traffic` does frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_rack.wire_capture.frames import FETCH, PRODUCE, SHARE_FETCH
from kafka_rack.wire_tables import traffic
from kafka_rack.wire_tables.batch_columns import Batches, KnownBatches, read_batches
from kafka_rack.wire_tables.rows import NONE, PastTarget
from kafka_rack.wire_tables.traffic import FORM_BITS, MOVED, NO_PART, NO_UUID
from protocol.compiler.column_reading import Columns, Flags, Numbers
from protocol.records import CompressionCodec
from protocol.records.batches import CODEC_MASK, CONTROL_FLAG, TRANSACTIONAL_FLAG

if TYPE_CHECKING:
    from kafka_rack.wire_tables.column_decoding import ColumnDecoder, FrameGroup
    from kafka_rack.wire_tables.waiting_frames import Waiting

CODEC_NAMES = tuple(codec.name.lower() for codec in CompressionCodec)


class Fields(NamedTuple):
    """Where a message has its topics and partitions; ``others`` are wanted besides."""

    topics: str
    name: str
    partitions: str
    number: str
    others: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        topics, partitions = self.topics, f"{self.topics}.{self.partitions}"
        inside = (self.number, "records", "error_code", "preferred_read_replica")
        return (
            f"{topics}.{self.name}",
            f"{topics}.topic_id",
            *(f"{partitions}.{field}" for field in inside),
            *self.others,
        )


FIELDS = {
    (PRODUCE, True): Fields("topic_data", "name", "partition_data", "index", ("acks",)),
    (PRODUCE, False): Fields("responses", "name", "partition_responses", "index"),
    (FETCH, False): Fields("responses", "topic", "partitions", "partition_index"),
    (SHARE_FETCH, False): Fields("responses", "topic", "partitions", "partition_index"),
}
ASKED = {(FETCH, True): ("replica_id", "replica_state.replica_id", "rack_id"), (SHARE_FETCH, True): ("group_id",)}
"""Fields of requests that the rows of their responses have."""


def wanted_fields(api_key: int, *, is_request: bool) -> tuple[str, ...]:
    """The fields that rows are made of; none for what has no rows here."""
    found = FIELDS.get((api_key, is_request))
    return found.all if found is not None else ASKED.get((api_key, is_request), ())


class Parts(NamedTuple):
    """The partitions of some frames: the frame's number in its group, the topic's, and what the message has of it."""

    member: Numbers
    topic: Numbers
    partition: Numbers
    start: Numbers
    length: Numbers
    error: Numbers | None
    preferred: Numbers | None

    def of(self, kept: Flags) -> Parts:
        return Parts(*(column[kept] if column is not None else None for column in self))  # type: ignore[arg-type]

    def of_rows(self, rows: Numbers) -> Parts:
        return self.of(rows)  # type: ignore[arg-type]  # numbers in the place of flags

    def is_repeated(self) -> Flags:
        """Whether a row is of the same part of the same frame as the one before."""
        found = np.zeros(self.member.size, np.bool_)
        columns = self.member, self.topic, self.partition
        found[1:] = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
        return found

    @property
    def first(self) -> Flags:
        """Whether a row is its frame's first."""
        found: Flags = np.diff(self.member, prepend=-1) != 0
        return found


class Produced(NamedTuple):
    """The Produce requests of one version that were read last: what the rows of their responses need of them.

    ``row`` are the numbers of their frames, ``acks`` their field; ``records`` and ``keyed`` have an element a part.
    """

    row: Numbers
    good: Flags
    acks: Numbers
    parts: Parts
    records: Numbers
    keyed: Numbers
    part_count: Numbers
    first: Numbers


class TrafficRows:
    """Makes the rows of a decoder's groups; topics have numbers here for as long as its frames are read."""

    def __init__(self, decoder: ColumnDecoder) -> None:
        self.decoder = decoder
        self.known_batches = KnownBatches()
        self.begin()

    def begin(self) -> None:
        self.topics: dict[tuple[bytes, bool], int] = {}
        self.topic_names: list[tuple[str | None, bytes]] = []
        self.produced: dict[int, Produced] = {}

    def add(self, waiting: Waiting, group: FrameGroup, members: Numbers, columns: Columns) -> None:
        """The rows of a group's frames; those that turn out to be odd are marked as such."""
        self.waiting = waiting
        if group.api_key == PRODUCE and group.is_request:
            self.produce_requests(group, members, columns)
        elif group.api_key == PRODUCE:
            self.produce_responses(group, members, columns)
        else:
            self.fetch_responses(group, members, columns)

    # -- what they share ---------------------------------------------------------------------------------------------

    def parts(self, group: FrameGroup, columns: Columns) -> Parts:
        """The partitions of frames that are not odd. Topics without a name make a frame odd."""
        fields = FIELDS[group.api_key, group.is_request]
        level, values = f"{fields.topics}.{fields.partitions}", columns.values
        if level not in columns.frames:
            none = np.zeros(0, np.int64)
            return Parts(none, none, none, none, none, none, none)
        topics = self.topic_numbers(fields, columns)
        member = columns.frames[level]
        start, length = values.get(f"{level}.records", (np.zeros_like(member), np.zeros_like(member)))
        return Parts(
            member,
            topics[columns.outer(level, fields.topics)],
            values[f"{level}.{fields.number}"],
            start,
            np.maximum(length, 0),
            values.get(f"{level}.error_code"),
            values.get(f"{level}.preferred_read_replica"),
        ).of(~columns.odd[member])

    def topic_numbers(self, fields: Fields, columns: Columns) -> Numbers:
        """The number of each topic of the frames."""
        ids = columns.values.get(f"{fields.topics}.topic_id")
        data, known, found = self.waiting.views.data, self.topics, []
        if ids is not None:
            keys = [(data[start : start + 16], True) for start in ids.tolist()]
        else:
            starts, lengths = columns.values[f"{fields.topics}.{fields.name}"]
            if (lengths <= 0).any():
                columns.odd[columns.frames[fields.topics][lengths <= 0]] = True
            keys = [
                (data[start : start + length], False)
                for start, length in zip(starts.tolist(), np.maximum(lengths, 0).tolist(), strict=True)
            ]
        for key in keys:
            number = known.get(key)
            if number is None:
                number = known[key] = len(known)
                text, is_id = key
                self.topic_names.append((None, text) if is_id else (text.decode(), NO_UUID))
            found.append(number)
        return np.array(found, np.int64)

    def part_numbers(self, time: Numbers, topic: Numbers, partition: Numbers) -> tuple[Numbers, Numbers]:
        """The numbers of partitions, and of who led them at these times."""
        decoder = self.decoder
        moments, moment = np.unique(time * (len(self.topic_names) + 1) + topic, return_inverse=True)
        both, inverse = np.unique((moment << 32) | (partition & 0xFFFFFFFF), return_inverse=True)
        parts, leading = np.empty(both.size, np.int64), np.empty(both.size, np.int64)
        target, then = None, -1
        for at, one in enumerate(both.tolist()):
            when, number = divmod(int(moments[one >> 32]), len(self.topic_names) + 1)
            if target is None or when != then:
                then = when
                target = PastTarget(decoder.rows, decoder.target.state, decoder.wanted, decoder.past.at(when))
            name, topic_id = self.topic_names[number]
            if name is None:
                name = target.known.topics.get(topic_id)
            low = one & 0xFFFFFFFF
            part = name, topic_id, low - ((low & 0x80000000) << 1), None
            parts[at], leading[at] = traffic.part_of(target, part), traffic.leading_of(target, part)
        return parts[inverse], leading[inverse]

    def batches(self, columns: Columns, parts: Parts) -> tuple[Parts, Batches]:
        """The batches of partitions; both without those of frames that they make odd."""
        found = read_batches(self.waiting.views, parts.start, parts.length, self.known_batches)
        if found.odd.any():
            columns.odd[parts.member[found.odd]] = True
            kept = ~columns.odd[parts.member]
            numbers = np.cumsum(kept) - 1
            inside = kept[found.field]
            found = found.where(inside)
            found = found._replace(odd=found.odd[kept], field=numbers[found.field])
            parts = parts.of(kept)
        return parts, found

    def batch_rows(
        self, group: FrameGroup, members: Numbers, parts: Parts, part_numbers: Numbers, found: Batches
    ) -> None:
        decoder, waiting = self.decoder, self.waiting
        if "batches" not in decoder.wanted:
            return
        frame = members[parts.member[found.field]]
        found, frame = found.where(waiting.is_here[frame]), frame[waiting.is_here[frame]]
        if not frame.size:
            return
        forms, inverse = np.unique(found.attributes & FORM_BITS, return_inverse=True)
        form = np.array([self.form_number(int(bits), is_request=group.is_request) for bits in forms])
        rows = np.column_stack(
            (
                waiting.place[frame],
                self.kinds()[frame],
                part_numbers[found.field],
                form[inverse],
                waiting.ts[frame],
                found.records,
                found.size,
                found.key_bytes,
                found.value_bytes,
                found.headers,
                found.base_offset,
                found.producer_id,
                waiting.index[frame],
                np.full(frame.size, NONE),
            )
        )
        decoder.emit("batches", self.api_name(members), 2 * frame + 1, rows)

    def form_number(self, bits: int, *, is_request: bool) -> int:
        """The number of a whole batch's form."""
        codec = CODEC_NAMES[bits & CODEC_MASK]
        forms = self.decoder.rows.shared["form"]
        key = is_request, 2, bits, False, codec
        found = forms.get(key)
        if found is not None:
            return found
        side = "request" if is_request else "response"
        return forms.add(key, (side, 2, codec, bits & TRANSACTIONAL_FLAG != 0, bits & CONTROL_FLAG != 0, False))

    def kinds(self) -> Numbers:
        """By row, the number of its kind among those that rows share."""
        waiting = self.waiting
        return waiting.of_kinds([one.number for one in waiting.handlings])

    def api_name(self, members: Numbers) -> str:
        return self.waiting.kind_of(int(members[0])).api_name

    # -- Fetch and ShareFetch ----------------------------------------------------------------------------------------

    def fetch_responses(self, group: FrameGroup, members: Numbers, columns: Columns) -> None:
        decoder, waiting = self.decoder, self.waiting
        readers = self.readers(group, members, columns) if "fetches" in decoder.wanted else None
        parts, found = self.batches(columns, self.parts(group, columns))
        part_numbers, leading = self.part_numbers(waiting.time[members][parts.member], parts.topic, parts.partition)
        self.batch_rows(group, members, parts, part_numbers, found)
        if readers is None:
            return
        call = Calls(self, members, waiting.asked[members], waiting.size[members], parts)
        records = per_part(found.records * (found.attributes & CONTROL_FLAG == 0), found, parts)
        preferred = parts.preferred if parts.preferred is not None else np.full(parts.member.size, -1)
        call.emit(
            "fetches",
            readers,
            part_numbers,
            leading,
            response_own=True,
            records=records,
            redirected=preferred >= 0,
            said=np.where(preferred >= 0, preferred, NONE),
            error=parts.error if parts.error is not None else np.full(parts.member.size, NONE),
        )
        empty = np.flatnonzero((np.bincount(parts.member, minlength=members.size) == 0) & ~columns.odd)
        if empty.size:
            none = np.zeros(empty.size, np.int64)
            target = decoder.target
            nowhere = Parts(empty, none, none, none, none, None, None)
            Calls(self, members, waiting.asked[members], waiting.size[members], nowhere).emit(
                "fetches",
                readers,
                none + traffic.part_of(target, NO_PART),
                none + traffic.leading_of(target, NO_PART),
                response_own=True,
                records=none,
                redirected=none,
                said=none + NONE,
                error=none + NONE,
            )

    def readers(self, group: FrameGroup, members: Numbers, columns: Columns) -> Numbers:
        """The number of who asked for each response; those whose request is odd are."""
        decoder, waiting = self.decoder, self.waiting
        found = np.full(members.size, NONE)
        asking = decoder.groups.get((group.api_key, group.version, True))
        if asking is None:
            columns.odd[:] = True
            return found
        asked = waiting.asked[members]
        rows, read = asking.read if asking.read is not None else decoder.read_rows(waiting, asking, asked)
        where = np.searchsorted(rows, asked)
        columns.odd[read.odd[where]] = True
        values, data = read.values, waiting.views.data
        replica = values.get("replica_id", np.full(rows.size, -1))
        if "replica_state" in read.frames:  # tagged: there where it is not a consumer
            replica[read.frames["replica_state"]] = values["replica_state.replica_id"]
        text = values.get("rack_id" if group.api_key == FETCH else "group_id")
        nothing = np.zeros(rows.size, np.int64)
        start, length = text if text is not None else (nothing, nothing)
        known: dict[Any, int] = {}
        keys = zip(
            waiting.kind[members].tolist(),
            waiting.place[members].tolist(),
            replica[where].tolist(),
            start[where].tolist(),
            length[where].tolist(),
            np.where(replica[where] >= 0, waiting.time[members], 0).tolist(),
            columns.odd.tolist(),
            strict=True,
        )
        for at, (kind, place, follower, begin, size, time, odd) in enumerate(keys):
            if odd:
                continue
            said = data[begin : begin + size] if size >= 0 else None
            key = kind, place, follower, said, time
            number = known.get(key)
            if number is None:
                row = int(members[at])
                then = decoder.past.at(int(waiting.time[row]))
                target = PastTarget(decoder.rows, decoder.target.state, decoder.wanted, then)
                words = said.decode() if said is not None else None
                own = (None, words) if group.api_key == SHARE_FETCH else (words, None)
                one = waiting.asked_of(int(waiting.asked[row]))
                number = known[key] = traffic.reader_number(target, waiting.connection(row), one, follower, *own)
            found[at] = number
        return found

    # -- Produce -----------------------------------------------------------------------------------------------------

    def produce_requests(self, group: FrameGroup, members: Numbers, columns: Columns) -> None:
        decoder, waiting = self.decoder, self.waiting
        parts, found = self.batches(columns, self.parts(group, columns))
        count = np.bincount(parts.member, minlength=members.size)
        acks = columns.values["acks"]
        unanswered = (acks == 0) & ~columns.odd
        if (unanswered & (count == 0)).any():  # a row without a partition
            columns.odd[unanswered & (count == 0)] = True
            unanswered = unanswered & (count != 0)
        part_numbers, leading = self.part_numbers(waiting.time[members][parts.member], parts.topic, parts.partition)
        self.batch_rows(group, members, parts, part_numbers, found)
        records = per_part(found.records * (found.attributes & CONTROL_FLAG == 0), found, parts)
        keyed = per_part(found.keyed.astype(np.int64), found, parts) > 0
        good = ~columns.odd & (count > 0)
        first = np.cumsum(count) - count
        self.produced[group.version] = Produced(
            members, good, acks, parts, records, keyed.astype(np.int64), count, first
        )
        if unanswered.any() and "produces" in decoder.wanted:
            mine = unanswered[parts.member]
            nothing = np.full(int(mine.sum()), NONE)
            Calls(self, members, members, np.zeros(members.size, np.int64), parts.of(mine)).emit(
                "produces",
                self.writers(members, acks, np.flatnonzero(unanswered)),
                part_numbers[mine],
                leading[mine],
                response_own=False,
                records=records[mine],
                redirected=np.zeros(nothing.size, np.int64),
                said=keyed[mine],
                error=nothing,
            )

    def writers(self, members: Numbers, acks: Numbers, those: Numbers) -> Numbers:
        """The number of who produced, for those of the frames."""
        target, waiting = self.decoder.target, self.waiting
        known: dict[Any, int] = {}
        found = np.full(members.size, NONE)
        kinds, places, said = waiting.kind[members].tolist(), waiting.place[members].tolist(), acks.tolist()
        for at in those.tolist():
            key = kinds[at], places[at], said[at]
            number = known.get(key)
            if number is None:
                row = int(members[at])
                asked = waiting.asked_of(int(waiting.asked[row]))
                number = known[key] = traffic.writer_number(target, waiting.connection(row), asked, said[at])
            found[at] = number
        return found

    def produce_responses(self, group: FrameGroup, members: Numbers, columns: Columns) -> None:
        decoder, waiting = self.decoder, self.waiting
        if "produces" not in decoder.wanted:
            return
        requests = self.produced.get(group.version)
        if requests is None:
            columns.odd[:] = True
            return
        asked = waiting.asked[members]
        at = np.searchsorted(requests.row, asked)
        columns.odd[~requests.good[at]] = True
        told = self.parts(group, columns)
        count = np.bincount(told.member, minlength=members.size)
        columns.odd[count != requests.part_count[at]] = True
        told = told.of(~columns.odd[told.member])
        # the request's parts, call by call, beside the response's
        mine = np.flatnonzero(~columns.odd)
        row = ragged(requests.first[at[mine]], requests.part_count[at[mine]])
        parts = requests.parts
        member = told.member
        asked_for, answered = (
            np.lexsort((one.partition, one.topic, member))
            for one in (parts.of_rows(row)._replace(member=member), told)  # brokers answer in an order of their own
        )
        row_sorted, told_sorted = row[asked_for], told.of_rows(answered)
        same = (parts.topic[row_sorted] == told_sorted.topic) & (parts.partition[row_sorted] == told_sorted.partition)
        same[1:] &= ~told_sorted.is_repeated()[1:]
        columns.odd[member[~same]] = True
        back = np.empty_like(asked_for)
        back[asked_for] = answered
        told = told.of_rows(back)
        kept = ~columns.odd[told.member]
        row, told = row[kept], told.of(kept)
        if not row.size:
            return
        mine = np.flatnonzero(~columns.odd)
        part_numbers, leading = self.part_numbers(waiting.time[members][told.member], told.topic, told.partition)
        error = told.error
        assert error is not None
        beside = Parts(told.member, told.topic, told.partition, parts.start[row], parts.length[row], error, None)
        Calls(self, members, asked, waiting.size[members], beside).emit(
            "produces",
            self.writers(members, requests.acks[at], mine),
            part_numbers,
            leading,
            response_own=False,
            records=requests.records[row],
            redirected=np.isin(error, MOVED),
            said=requests.keyed[row],
            error=error,
        )


class Calls:
    """Calls whose parts become rows: the requests' rows, the bytes of the responses, by the number in their group."""

    def __init__(
        self, owner: TrafficRows, members: Numbers, asked: Numbers, response_bytes: Numbers, parts: Parts
    ) -> None:
        self.owner, self.members, self.parts = owner, members, parts
        waiting = owner.waiting
        self.asked_ts, self.asked_frame = waiting.ts[asked], waiting.index[asked]
        self.request_bytes, self.response_bytes = waiting.size[asked], response_bytes

    def emit(
        self,
        table: str,
        whose: Numbers,
        part_numbers: Numbers,
        leading: Numbers,
        *,
        response_own: bool,
        records: Numbers,
        redirected: Any,
        said: Any,
        error: Numbers,
    ) -> None:
        """A row for each part. ``whose`` is by call; the records' bytes are the response's, or the request's."""
        owner, parts = self.owner, self.parts
        if not parts.member.size:
            return
        call, frame = parts.member, self.members[parts.member]
        nothing = np.zeros_like(parts.length)
        rows = np.column_stack(
            (
                owner.waiting.place[frame],
                owner.kinds()[frame],
                whose[call],
                part_numbers,
                leading,
                self.asked_ts[call],
                shares(self.request_bytes, nothing if response_own else parts.length, parts),
                shares(self.response_bytes, parts.length if response_own else nothing, parts),
                parts.length,
                records,
                redirected,
                said,
                error,
                self.asked_frame[call],
                parts.first,
            )
        )
        owner.decoder.emit(table, owner.api_name(self.members), 2 * frame + 1, rows.astype(np.int64, copy=False))


def per_part(values: Numbers, found: Batches, parts: Parts) -> Numbers:
    """The sums over each part's batches; exact up to 2^53."""
    return np.bincount(found.field, values, parts.member.size).astype(np.int64)


def shares(total: Numbers, own: Numbers, parts: Parts) -> Numbers:
    """A call's bytes over its parts, as :func:`kafka_rack.byte_shares.shares` divides them."""
    call, calls = parts.member, total.size
    count = np.bincount(call, minlength=calls)
    rest = total - np.bincount(call, own, calls).astype(np.int64)
    each: Numbers = np.where(rest > 0, rest // np.maximum(count, 1), 0)
    found = own + each[call]
    found[parts.first] += (rest - each * count)[call[parts.first]]
    return found


def ragged(first: Numbers, count: Numbers) -> Numbers:
    """``first[0]``, the ``count[0] - 1`` numbers behind it, ``first[1]`` and so on.

    >>> ragged(np.array([5, 1]), np.array([2, 1])).tolist()
    [5, 6, 1]
    """
    ends = np.cumsum(count)
    return np.repeat(first - (ends - count), count) + np.arange(int(ends[-1]) if ends.size else 0)
