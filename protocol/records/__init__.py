"""The contents of ``records`` fields: batches, message sets, compression, checksums. Bytes in, bytes and records
out; no I/O.

Looking without walking: iter_batches, BatchHeader.  Reading: iter_records, iter_batch_records, Record.  Writing:
build_batch, build_control_batch, build_transaction_marker.  What a broker does: validate, assign_offsets, down_convert.
Every fault of the input is a RecordError.
"""

from protocol.records.appending import Appended, assign_offsets, validate
from protocol.records.batches import BatchHeader, TimestampType, iter_batches
from protocol.records.building import build_batch, build_control_batch, build_transaction_marker
from protocol.records.compression import (
    DEFAULT_LIMIT_BYTES,
    CompressionCodec,
    DecompressionBudget,
    compress,
    decompress,
)
from protocol.records.down_conversion import down_convert
from protocol.records.errors import (
    CorruptRecordError,
    DecompressionLimitError,
    InvalidRecordError,
    RecordError,
    UnsupportedCompressionError,
)
from protocol.records.reading import iter_batch_records, iter_records
from protocol.records.record import ControlType, Record, control_type, coordinator_epoch

__all__ = [
    "DEFAULT_LIMIT_BYTES",
    "Appended",
    "BatchHeader",
    "CompressionCodec",
    "ControlType",
    "CorruptRecordError",
    "DecompressionBudget",
    "DecompressionLimitError",
    "InvalidRecordError",
    "Record",
    "RecordError",
    "TimestampType",
    "UnsupportedCompressionError",
    "assign_offsets",
    "build_batch",
    "build_control_batch",
    "build_transaction_marker",
    "compress",
    "control_type",
    "coordinator_epoch",
    "decompress",
    "down_convert",
    "iter_batch_records",
    "iter_batches",
    "iter_records",
    "validate",
]
