"""Records for consumers that do not know their format: Fetch v0-1 read magic 0, v2-3 magic 0 and 1.

Brokers before Kafka 4.0 did this on each such fetch (KIP-31, KIP-98; removed by KIP-724). What the older format lacks
is left out: headers, producers, transactions and control batches. Offsets stay.
Source: org.apache.kafka.common.record.RecordsUtil.downConvert, Apache Kafka 3.9.
"""

from __future__ import annotations

from protocol.records.batches import Buffer, iter_batches
from protocol.records.building import build_batch
from protocol.records.compression import DEFAULT_LIMIT_BYTES, CompressionCodec, DecompressionBudget
from protocol.records.errors import DecompressionLimitError, InvalidRecordError, UnsupportedCompressionError
from protocol.records.reading import iter_batch_records
from protocol.records.record import Record


def down_convert(
    records: Buffer, magic: int, *, first_offset: int = 0, limit: int | DecompressionBudget = DEFAULT_LIMIT_BYTES
) -> bytes:
    """``records`` with each batch of a later magic rewritten in ``magic``, 0 or 1; the others stay as they are.

    Args:
        first_offset: that of the fetch: records before it are left out where their batch is not compressed, so that the
            fetch makes headway.
        limit: bytes that one batch may hold when decompressed; of a budget all of them together.

    A batch cut off at the end is left out, and so is what follows the first batch where it would take too much.

    Raises: UnsupportedCompressionError: zstd, which older formats lack; CorruptRecordError.
    """
    if magic not in (0, 1):
        raise InvalidRecordError(f"down-conversion to magic {magic}, but 0 and 1 are what older consumers read")
    data = records if type(records) is bytes else bytes(records)
    parts: list[bytes] = []
    for header in iter_batches(data):
        if header.partial:
            break
        if header.is_control:
            continue
        codec = header.codec
        if codec == CompressionCodec.ZSTD:
            raise UnsupportedCompressionError(f"zstd, which consumers of magic {magic} do not have", header.position)
        if header.magic <= magic:
            parts.append(data[header.position : header.position + header.size])
            continue
        try:
            wanted = [
                Record(record.offset, record.timestamp, record.key, record.value)
                for record in iter_batch_records(data, header, limit=limit)
                if codec != CompressionCodec.NONE or record.offset >= first_offset
            ]
        except DecompressionLimitError:
            if parts:
                break  # the next fetch begins here
            raise
        if wanted:
            append_time = header.max_timestamp if header.timestamp_type == 1 else None
            parts.append(
                build_batch(
                    wanted, magic=magic, codec=codec, base_offset=wanted[0].offset, log_append_time_ms=append_time
                )
            )
    return b"".join(parts)
