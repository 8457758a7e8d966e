"""Checks a producer's batch of magic 2 as a leader does, and makes the batch to store.

Kafka iterates over the records of each batch. Here only some batches are walked: small ones (often written by hand to
test an error), those of topics whose configs apply to single records, and those with a suspicious header. Of a large
batch of a known producer in an ordinary topic, only the header, the checksum and the plausibility of the record count
are checked.

Nearly all batches pass the strict reader of ``protocol.records``. Others are read again by ``LenientReader``: Kafka
reads any negative length of a key or value as null, and does not check the records' own lengths in a compressed batch
that it stores unchanged.

Source: ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords, LogValidator, DefaultRecordBatch,
DefaultRecord.readFrom and readPartiallyFrom, ByteUtils.readVarint, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import astuple, replace

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode
from protocol.records import (
    CompressionCodec,
    CorruptRecordError,
    DecompressionBudget,
    DecompressionLimitError,
    Record,
    RecordError,
    decompress,
    iter_batch_records,
)
from protocol.records.batches import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    CODEC_MASK,
    CRC_COVERS_FROM,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    check_crc,
)
from protocol.records.checksum import crc32c

if TYPE_CHECKING:
    from mockbroker.state.topics.topic import Topic

WALKED_RECORDS = 8
"""Batches of at most this many records are always walked."""
SMALLEST_RECORD_BYTES = 7
PLAUSIBLE_RATIO = 16
"""A batch whose records would need a better compression ratio than this is always walked."""
NO_BOUND = 9223372036854775807
ANY_RECORD_BYTES = 2147483639
FIRST_REAL_MS = 10**12
"""An earlier clock is a simulation's, which begins at 0: current timestamps are not in its future."""
UP_TO_MAGIC, MIN_LENGTH, MAGIC_AT, ATTRIBUTES_AT = 17, 14, 16, 22
UP_TO_LAST_OFFSET = 27
LOG_APPEND_TIME = "LogAppendTime"
PRODUCER = "producer"
CODEC_BY_NAME = {codec.name.lower() if codec else "uncompressed": codec for codec in CompressionCodec}
KNOWN_FLAGS = 0x7F
UNKNOWN_START = -1
WITHOUT_START = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
"""The errors of a log with which ReplicaManager.appendRecordsToLeader returns no log start offset."""


CheckedBatch = tuple[bytes, BatchHeader]
"""A batch to store: its bytes, which may differ from the producer's, and their header."""


class RefusedAppendError(ApiError):
    """Records that a log refused.

    ``record_errors`` are of single records, as (index in the batch, message); only these have a message in answers.
    ``log_start_offset`` is -1 where Kafka does not report it.
    """

    def __init__(self, code: int, message: str | None = None, record_errors: tuple[tuple[int, str], ...] = ()) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors
        self.log_start_offset = UNKNOWN_START


def refused(error: ApiError, start_offset: int) -> RefusedAppendError:
    """The refusal for an error of a log with this start offset."""
    refusal = error if isinstance(error, RefusedAppendError) else RefusedAppendError(error.code)
    if error.code not in WITHOUT_START:
        refusal.log_start_offset = start_offset
    return refusal


class AppendRules(NamedTuple):
    """The configs of a topic for appended records.

    ``codec`` is the topic's compression, None for the producer's; times are in ms, ``NO_BOUND`` for no limit;
    ``segment_ms`` is the maximum age of a segment. ``max_bytes`` limits a batch, ``max_record_bytes`` one record of a
    compressed batch, None for no limit.
    """

    needs_keys: bool
    by_append_time: bool
    before_ms: int
    after_ms: int
    codec: CompressionCodec | None
    max_bytes: int
    max_record_bytes: int | None
    segment_bytes: int
    segment_ms: int


Bounds = tuple[int, int]
"""The oldest and the newest valid timestamp in ms."""


def append_rules(topic: Topic) -> AppendRules:
    """The effective rules. Source: LogConfig, Apache Kafka 4.4."""
    config = topic.config
    compacts = "compact" in config("cleanup.policy")
    segment_ms, lag_ms = config("segment.ms"), config("max.compaction.lag.ms")
    wanted, record_bytes = config("compression.type"), config("max.decompressed.message.bytes")
    return AppendRules(
        needs_keys=compacts,
        by_append_time=config("message.timestamp.type") == LOG_APPEND_TIME,
        before_ms=config("message.timestamp.before.max.ms"),
        after_ms=config("message.timestamp.after.max.ms"),
        codec=None if wanted == PRODUCER else CODEC_BY_NAME[wanted],
        max_bytes=config("max.message.bytes"),
        max_record_bytes=None if record_bytes == ANY_RECORD_BYTES else record_bytes,
        segment_bytes=config("segment.bytes"),
        segment_ms=min(lag_ms, segment_ms) if compacts and lag_ms > 0 else segment_ms,
    )


def batch_size(records: bytes, position: int) -> int | None:
    """Size in bytes of the batch at a position, None if it is cut off. Raises ApiError: CORRUPT_MESSAGE.

    Source: ByteBufferLogInputStream.nextBatchSize.
    """
    left = len(records) - position
    if left < LOG_OVERHEAD:
        return None
    length = int.from_bytes(records[position + 8 : position + LOG_OVERHEAD], signed=True)
    if length < MIN_LENGTH:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"expected a length from {MIN_LENGTH} on, got {length}")
    if left < UP_TO_MAGIC:
        return None
    magic = records[position + MAGIC_AT]
    if magic > 2:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"expected magic 0 to 2, got {magic}")
    size = length + LOG_OVERHEAD
    return size if size <= left else None


def only_batch(records: bytes, *, allow_zstd: bool) -> int:
    """Size in bytes of the only batch, of magic 2, in a partition's records; ignores a batch cut off after it.

    Raises ApiError: CORRUPT_MESSAGE, INVALID_RECORD, UNSUPPORTED_COMPRESSION_TYPE.
    """
    size = batch_size(records, 0)
    if size is None or records[MAGIC_AT] != 2:
        raise ApiError(ErrorCode.INVALID_RECORD)
    if not allow_zstd and records[ATTRIBUTES_AT] & CODEC_MASK == CompressionCodec.ZSTD:
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    if size != len(records) and batch_size(records, size) is not None:
        raise ApiError(ErrorCode.INVALID_RECORD)
    return size


def check_batch(
    records: bytes,
    size: int,
    rules: AppendRules,
    bounds: Bounds,
    now_ms: int,
    limit: int | DecompressionBudget,
) -> CheckedBatch:
    """The batch to store, except its offsets and leader epoch.

    Args:
        size: the result of ``only_batch``.
        now_ms: in wall-clock time.
        limit: limit of decompressed bytes.

    Raises ApiError.
    """
    header = read_checked_header(records, size, rules.max_bytes)
    data = records if size == len(records) else records[:size]
    attributes = header.attributes
    codec = attributes & CODEC_MASK
    target = codec if rules.codec is None else rules.codec
    max_record_bytes = rules.max_record_bytes if codec else None
    oldest_ms, newest_ms = bounds
    if (
        header.record_count > WALKED_RECORDS
        and header.record_count * SMALLEST_RECORD_BYTES
        <= (PLAUSIBLE_RATIO if codec else 1) * (size - BATCH_HEADER_SIZE)
        and target == codec
        and not rules.needs_keys
        and max_record_bytes is None
        and oldest_ms <= now_ms - NO_BOUND
        and header.max_timestamp <= newest_ms
        and not attributes & LOG_APPEND_TIME_FLAG
    ):
        return data, header
    found = read_records(data, header, limit, whole=target != codec, max_record_bytes=max_record_bytes)
    check_records(found, header, bounds, rules)
    if target != codec:
        return recompressed(found, header, CompressionCodec(target), rules, now_ms)
    if codec and any(one.offset != place for place, one in enumerate(found)):
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if rules.by_append_time:
        return data, header
    newest = max([one.timestamp for one in found])  # a list, as most have one record
    if newest == header.max_timestamp and not header.attributes & LOG_APPEND_TIME_FLAG:
        return data, header
    return with_time(data, header, newest)


def read_checked_header(records: bytes, size: int, max_bytes: int) -> BatchHeader:
    """The header of a sound batch. Raises ApiError; of several errors, the one that Kafka checks first."""
    if any(records[:8]):  # the base offset
        raise ApiError(ErrorCode.INVALID_RECORD)
    if size < UP_TO_LAST_OFFSET:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if size > max_bytes:
        raise ApiError(ErrorCode.MESSAGE_TOO_LARGE)
    if size < BATCH_HEADER_SIZE:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE)
    header = BatchHeader(0, *BATCH_HEADER.unpack_from(records, 0))
    try:
        check_crc(records, header)
    except CorruptRecordError:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE) from None
    if header.attributes & CODEC_MASK > CompressionCodec.ZSTD:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    has_wrong_count = header.record_count <= 0 or header.last_offset_delta + 1 != header.record_count
    if has_wrong_count or header.is_control or (header.producer_id >= 0 and header.base_sequence < 0):
        raise ApiError(ErrorCode.INVALID_RECORD)
    return header


def bounds_of(rules: AppendRules, now_ms: int, *, clock_jumped: bool) -> Bounds:
    """The range of valid timestamps at this time. A clock that a command has moved counts as real."""
    if rules.by_append_time:
        return now_ms - NO_BOUND, NO_BOUND
    has_newest = clock_jumped or now_ms >= FIRST_REAL_MS
    return now_ms - rules.before_ms, now_ms + rules.after_ms if has_newest else NO_BOUND


def check_records(found: list[Record], header: BatchHeader, bounds: Bounds, rules: AppendRules) -> None:
    """Raises RefusedAppendError: INVALID_RECORD, INVALID_TIMESTAMP, with an error for each invalid record."""
    needs_keys, by_append_time = rules.needs_keys, rules.by_append_time
    oldest, newest = bounds
    claims_append_time = header.attributes & LOG_APPEND_TIME_FLAG != 0
    errors: list[tuple[int, str]] = []
    code = ErrorCode.INVALID_RECORD
    for place, one in enumerate(found):
        if needs_keys and one.key is None:
            errors.append((place, "expected a record with a key in a topic that is compacted"))
        elif not by_append_time and one.timestamp != NO_TIMESTAMP:
            if not oldest <= one.timestamp <= newest:
                code = ErrorCode.INVALID_TIMESTAMP
                errors.append((place, f"expected a timestamp from {oldest} to {newest}, got {one.timestamp}"))
        elif claims_append_time:
            code = ErrorCode.INVALID_TIMESTAMP
            errors.append((place, "expected a timestamp of the producer's, got one that claims to be the log's"))
    if errors:
        raise RefusedAppendError(code, f"{len(errors)} of {len(found)} records refused: {errors[0][1]}", tuple(errors))


def recompressed(
    found: list[Record], header: BatchHeader, target: CompressionCodec, rules: AppendRules, now_ms: int
) -> CheckedBatch:
    """The same records in a batch with the topic's compression."""
    records = [Record(place, one.timestamp, one.key, one.value, one.headers) for place, one in enumerate(found)]
    try:
        data = batch_like(header, records, target, append_time_ms=now_ms if rules.by_append_time else None)
    except RecordError:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) from None
    if len(data) > rules.max_bytes:
        raise ApiError(ErrorCode.MESSAGE_TOO_LARGE)
    return data, BatchHeader(0, *BATCH_HEADER.unpack_from(data, 0))


def batch_like(
    header: BatchHeader, records: list[Record], codec: CompressionCodec, *, append_time_ms: int | None, **more: Any
) -> bytes:
    """A batch with these records and its producer, sequence numbers and offsets from a header. Raises RecordError."""
    from protocol.records import build_batch

    return build_batch(
        records,
        codec=codec,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        log_append_time_ms=append_time_ms,
        leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        **more,
    )


def with_time(data: bytes, header: BatchHeader, newest_ms: int) -> CheckedBatch:
    """The batch with the actual newest timestamp of its records, and with CreateTime."""
    attributes = header.attributes & KNOWN_FLAGS & ~LOG_APPEND_TIME_FLAG
    result = encoded(replace(header, attributes=attributes, max_timestamp=newest_ms), data[BATCH_HEADER_SIZE:])
    return result, BatchHeader(0, *BATCH_HEADER.unpack_from(result, 0))


def encoded(header: BatchHeader, body: bytes) -> bytes:
    """The bytes of a batch with this header, except that its checksum is computed."""
    _position, *fields, _partial = astuple(header)
    packed = BATCH_HEADER.pack(*fields)
    covered = packed[CRC_COVERS_FROM:] + body
    return packed[:UP_TO_MAGIC] + crc32c(covered).to_bytes(4) + covered


def read_records(
    data: bytes,
    header: BatchHeader,
    limit: int | DecompressionBudget,
    *,
    whole: bool,
    max_record_bytes: int | None,
) -> list[Record]:
    """The records of a batch.

    Args:
        limit: limit of decompressed bytes.
        max_record_bytes: maximum size of one record, None for no limit.
        whole: also read the records of a compressed batch to their end, as for recompression.

    Raises ApiError: INVALID_RECORD; UNKNOWN_SERVER_ERROR if decompression fails.
    """
    if max_record_bytes is None:
        try:
            return list(iter_batch_records(data, header, crc=False, limit=limit))
        except DecompressionLimitError:
            raise ApiError(ErrorCode.INVALID_RECORD) from None
        except RecordError:
            pass
    body = data[BATCH_HEADER_SIZE:]
    if header.codec == CompressionCodec.ZSTD and not body:
        raise ApiError(ErrorCode.INVALID_RECORD)  # Kafka's zstd reader accepts no frame, and then lacks bytes
    if header.is_compressed:
        try:
            body = decompress(header.codec, body, limit=limit)
        except DecompressionLimitError:
            raise ApiError(ErrorCode.INVALID_RECORD) from None
        except RecordError:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) from None
    reader = LenientReader(body, header)
    return reader.records(sizes_count=whole or not header.is_compressed, max_bytes=max_record_bytes)


class LenientReader:
    """Reads the records of one batch; ``position`` is the current offset in its body."""

    def __init__(self, body: bytes, header: BatchHeader) -> None:
        self.body, self.header, self.position = body, header, 0

    @property
    def left(self) -> int:
        """The number of bytes that are not read yet."""
        return len(self.body) - self.position

    def records(self, *, sizes_count: bool, max_bytes: int | None) -> list[Record]:
        found, is_compressed = [], self.header.is_compressed
        too_long = ErrorCode.INVALID_RECORD if is_compressed else ErrorCode.UNKNOWN_SERVER_ERROR
        for _ in range(self.header.record_count):
            size = self.varint(32, too_long)
            left = self.left
            self.check(size >= 0 or not is_compressed)
            self.check(max_bytes is None or size <= max_bytes)
            self.check(size <= left or not sizes_count)
            found.append(self.record())
            self.check(left - self.left == size or not sizes_count)
        self.check(not self.left)
        return found

    def record(self) -> Record:
        header = self.header
        self.byte()
        timestamp = header.base_timestamp + self.varint(64)
        if header.attributes & LOG_APPEND_TIME_FLAG:
            timestamp = header.max_timestamp
        offset = header.base_offset + self.varint(32)
        key, value = self.bytes_(), self.bytes_()
        count = self.varint(32)
        self.check(0 <= count <= self.left)
        headers = []
        for _ in range(count):
            name = self.bytes_()
            self.check(name is not None)
            headers.append(((name or b"").decode("utf-8", "replace"), self.bytes_()))
        return Record(offset, timestamp, key, value, tuple(headers), header)

    def byte(self) -> int:
        self.check(self.left > 0)
        self.position += 1
        return self.body[self.position - 1]

    def varint(self, bits: int, too_long: ErrorCode = ErrorCode.INVALID_RECORD) -> int:
        number = shift = 0
        while (byte := self.byte()) > 127:
            number |= (byte & 127) << shift
            shift += 7
            if shift >= bits:
                raise ApiError(too_long)
        number = (number | byte << shift) & (1 << bits) - 1
        return number >> 1 ^ -(number & 1)

    def bytes_(self) -> bytes | None:
        size = self.varint(32)
        if size < 0:
            return None
        self.check(size <= self.left)
        self.position += size
        return self.body[self.position - size : self.position]

    def check(self, is_valid: bool) -> None:
        """Raises ApiError: INVALID_RECORD."""
        if not is_valid:
            raise ApiError(ErrorCode.INVALID_RECORD)
