"""Rows of Produce, Fetch and ShareFetch for many frames at once: what :mod:`.traffic` does frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_rack.wire_capture.frames import FETCH, LENGTH_BYTES, PRODUCE, SHARE_FETCH, Asked, Frame
from kafka_rack.wire_tables import traffic
from kafka_rack.wire_tables.batch_columns import Batches, read_batches
from kafka_rack.wire_tables.rows import NONE, PastTarget
from kafka_rack.wire_tables.traffic import FORM_BITS, MOVED, NO_PART, NO_UUID
from protocol.compiler.column_reading import Columns, Flags, Numbers, Views
from protocol.records import Codec
from protocol.records.batches import CODEC_MASK, CONTROL_FLAG, TRANSACTIONAL_FLAG

if TYPE_CHECKING:
    from kafka_rack.wire_tables.column_decoding import ColumnDecoder, Group

CODEC_NAMES = tuple(codec.name.lower() for codec in Codec)


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

    ``frame`` are the indexes of their frames, ``acks`` their field; ``records`` and ``keyed`` have an element a part.
    """

    frame: Numbers
    good: Flags
    acks: Numbers
    parts: Parts
    records: Numbers
    keyed: Numbers
    part_count: Numbers
    first: Numbers


class Traffic:
    """Makes the rows of a decoder's groups; topics have numbers here for as long as its frames are read."""

    def __init__(self, decoder: ColumnDecoder) -> None:
        self.decoder = decoder
        self.begin()

    def begin(self) -> None:
        self.topics: dict[tuple[bytes, bool], int] = {}
        self.topic_names: list[tuple[str | None, bytes]] = []
        self.produced: dict[int, Produced] = {}

    def add(self, group: Group, members: Numbers, frames: list[Frame], views: Views, columns: Columns) -> None:
        """The rows of a group's frames; those that turn out to be odd are marked as such."""
        if group.api_key == PRODUCE and group.is_request:
            self.produce_requests(group, members, frames, views, columns)
        elif group.api_key == PRODUCE:
            self.produce_responses(group, members, frames, views, columns)
        else:
            self.fetch_responses(group, members, frames, views, columns)

    # -- what they share ---------------------------------------------------------------------------------------------

    def parts(self, group: Group, views: Views, columns: Columns) -> Parts:
        """The partitions of frames that are not odd. Topics without a name make a frame odd."""
        fields = FIELDS[group.api_key, group.is_request]
        level, values = f"{fields.topics}.{fields.partitions}", columns.values
        if level not in columns.frames:
            none = np.zeros(0, np.int64)
            return Parts(none, none, none, none, none, none, none)
        topics = self.topic_numbers(fields, views, columns)
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

    def topic_numbers(self, fields: Fields, views: Views, columns: Columns) -> Numbers:
        """The number of each topic of the frames."""
        ids = columns.values.get(f"{fields.topics}.topic_id")
        data, known, found = views.data, self.topics, []
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

    def batches(self, views: Views, columns: Columns, parts: Parts) -> tuple[Parts, Batches]:
        """The batches of partitions; both without those of frames that they make odd."""
        found = read_batches(views, parts.start, parts.length)
        if found.odd.any():
            columns.odd[parts.member[found.odd]] = True
            kept = ~columns.odd[parts.member]
            numbers = np.cumsum(kept) - 1
            inside = kept[found.field]
            found = found.where(inside)
            found = found._replace(odd=found.odd[kept], field=numbers[found.field])
            parts = parts.of(kept)
        return parts, found

    def batch_rows(self, group: Group, members: Numbers, parts: Parts, part_numbers: Numbers, found: Batches) -> None:
        decoder = self.decoder
        if "batches" not in decoder.wanted or not found.field.size:
            return
        frame = members[parts.member[found.field]]
        forms, inverse = np.unique(found.attributes & FORM_BITS, return_inverse=True)
        form = np.array([self.form_number(int(bits), is_request=group.is_request) for bits in forms])
        rows = np.column_stack(
            (
                decoder.place[frame],
                decoder.kind[frame],
                part_numbers[found.field],
                form[inverse],
                decoder.ts[frame],
                found.records,
                found.size,
                found.key_bytes,
                found.value_bytes,
                found.headers,
                found.base_offset,
                found.producer_id,
                decoder.index[frame],
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

    def api_name(self, members: Numbers) -> str:
        asked = self.decoder.frames[int(members[0])].asked
        assert asked is not None
        return asked.kind.api_name

    # -- Fetch and ShareFetch ----------------------------------------------------------------------------------------

    def fetch_responses(
        self, group: Group, members: Numbers, frames: list[Frame], views: Views, columns: Columns
    ) -> None:
        decoder = self.decoder
        readers = self.readers(group, members, frames, columns) if "fetches" in decoder.wanted else None
        parts, found = self.batches(views, columns, self.parts(group, views, columns))
        part_numbers, leading = self.part_numbers(decoder.time[members][parts.member], parts.topic, parts.partition)
        self.batch_rows(group, members, parts, part_numbers, found)
        if readers is None:
            return
        asked = [frame.asked for frame in frames if frame.asked is not None]
        call = Calls(self, members, asked, decoder.size[members], parts)
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
            Calls(self, members, asked, decoder.size[members], Parts(empty, none, none, none, none, None, None)).emit(
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

    def readers(self, group: Group, members: Numbers, frames: list[Frame], columns: Columns) -> Numbers:
        """The number of who asked for each response; those whose request is odd are."""
        decoder = self.decoder
        asking = decoder.groups.get((group.api_key, group.version, True))
        asked = [frame.asked for frame in frames if frame.asked is not None]
        found = np.full(len(frames), NONE)
        if asking is None:
            columns.odd[:] = True
            return found
        views, _, _, read = asking.read([one.data for one in asked], [one.kind for one in asked])
        columns.odd[read.odd] = True
        values, data = read.values, views.data
        replica = values.get("replica_id", np.full(len(asked), -1))
        if "replica_state" in read.frames:  # tagged: there where it is not a consumer
            replica[read.frames["replica_state"]] = values["replica_state.replica_id"]
        replicas = replica.tolist()
        text = values.get("rack_id" if group.api_key == FETCH else "group_id")
        texts = list(zip(*(column.tolist() for column in text), strict=True)) if text is not None else None
        known: dict[Any, int] = {}
        places, times = decoder.place[members].tolist(), decoder.time[members].tolist()
        odd = columns.odd.tolist()
        for at, one in enumerate(asked):
            if odd[at]:
                continue
            follower = replicas[at]
            said: bytes | None = b""
            if texts is not None:
                start, length = texts[at]
                said = data[start : start + length] if length >= 0 else None
            key = one.kind, places[at], follower, said, times[at] if follower >= 0 else 0
            number = known.get(key)
            if number is None:
                target = PastTarget(decoder.rows, decoder.target.state, decoder.wanted, decoder.past.at(times[at]))
                words = said.decode() if said is not None else None
                own = (None, words) if group.api_key == SHARE_FETCH else (words, None)
                number = known[key] = traffic.reader_number(target, frames[at].connection, one, follower, *own)
            found[at] = number
        return found

    # -- Produce -----------------------------------------------------------------------------------------------------

    def produce_requests(
        self, group: Group, members: Numbers, frames: list[Frame], views: Views, columns: Columns
    ) -> None:
        decoder = self.decoder
        parts, found = self.batches(views, columns, self.parts(group, views, columns))
        count = np.bincount(parts.member, minlength=members.size)
        acks = columns.values["acks"]
        unanswered = (acks == 0) & ~columns.odd
        if (unanswered & (count == 0)).any():  # a row without a partition
            columns.odd[unanswered & (count == 0)] = True
            unanswered = unanswered & (count != 0)
        part_numbers, leading = self.part_numbers(decoder.time[members][parts.member], parts.topic, parts.partition)
        self.batch_rows(group, members, parts, part_numbers, found)
        records = per_part(found.records * (found.attributes & CONTROL_FLAG == 0), found, parts)
        keyed = per_part(found.keyed.astype(np.int64), found, parts) > 0
        good = ~columns.odd & (count > 0)
        first = np.cumsum(count) - count
        index = decoder.index[members]
        self.produced[group.version] = Produced(index, good, acks, parts, records, keyed.astype(np.int64), count, first)
        if unanswered.any() and "produces" in decoder.wanted:
            mine = unanswered[parts.member]
            asked = [frame.asked for frame in frames if frame.asked is not None]
            nothing = np.full(int(mine.sum()), NONE)
            Calls(self, members, asked, np.zeros(members.size, np.int64), parts.of(mine)).emit(
                "produces",
                self.writers(members, frames, acks, np.flatnonzero(unanswered)),
                part_numbers[mine],
                leading[mine],
                response_own=False,
                records=records[mine],
                redirected=np.zeros(nothing.size, np.int64),
                said=keyed[mine],
                error=nothing,
            )

    def writers(self, members: Numbers, frames: list[Frame], acks: Numbers, those: Numbers) -> Numbers:
        """The number of who produced, for those of the frames."""
        target = self.decoder.target
        known: dict[Any, int] = {}
        found = np.full(members.size, NONE)
        places, said = self.decoder.place[members].tolist(), acks.tolist()
        for at in those.tolist():
            frame = frames[at]
            assert frame.asked is not None
            key = frame.asked.kind, places[at], said[at]
            number = known.get(key)
            if number is None:
                number = known[key] = traffic.writer_number(target, frame.connection, frame.asked, said[at])
            found[at] = number
        return found

    def produce_responses(
        self, group: Group, members: Numbers, frames: list[Frame], views: Views, columns: Columns
    ) -> None:
        decoder = self.decoder
        if "produces" not in decoder.wanted:
            return
        requests = self.produced.get(group.version)
        if requests is None or not requests.frame.size:
            columns.odd[:] = True
            return
        asked = [frame.asked for frame in frames if frame.asked is not None]
        frame = np.fromiter((one.frame for one in asked), np.int64, len(asked))
        at = np.minimum(np.searchsorted(requests.frame, frame), requests.frame.size - 1)
        columns.odd[(requests.frame[at] != frame) | ~requests.good[at]] = True
        told = self.parts(group, views, columns)
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
        part_numbers, leading = self.part_numbers(decoder.time[members][told.member], told.topic, told.partition)
        error = told.error
        assert error is not None
        beside = Parts(told.member, told.topic, told.partition, parts.start[row], parts.length[row], error, None)
        Calls(self, members, asked, decoder.size[members], beside).emit(
            "produces",
            self.writers(members, frames, requests.acks[at], mine),
            part_numbers,
            leading,
            response_own=False,
            records=requests.records[row],
            redirected=np.isin(error, MOVED),
            said=requests.keyed[row],
            error=error,
        )


class Calls:
    """Calls whose parts become rows: the requests, the bytes of the responses, by the number in their group."""

    def __init__(
        self, owner: Traffic, members: Numbers, asked: list[Asked], response_bytes: Numbers, parts: Parts
    ) -> None:
        self.owner, self.members, self.parts = owner, members, parts
        self.asked_ts = np.fromiter((one.ts for one in asked), np.int64, len(asked))
        self.asked_frame = np.fromiter((one.frame for one in asked), np.int64, len(asked))
        self.request_bytes = np.fromiter((len(one.data) for one in asked), np.int64, len(asked)) + LENGTH_BYTES
        self.response_bytes = response_bytes

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
        decoder, parts = self.owner.decoder, self.parts
        if not parts.member.size:
            return
        call, frame = parts.member, self.members[parts.member]
        nothing = np.zeros_like(parts.length)
        rows = np.column_stack(
            (
                decoder.place[frame],
                decoder.kind[frame],
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
        decoder.emit(table, self.owner.api_name(self.members), 2 * frame + 1, rows.astype(np.int64, copy=False))


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
