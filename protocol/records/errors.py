"""Errors in record bytes. Everything here is a :class:`RecordError`, and so a ``ProtocolError``.

Brokers answer each with an error code of its own, named beside it.
"""

from __future__ import annotations

from protocol.errors import ProtocolError


class RecordError(ProtocolError):
    """Records that cannot be read, stored, converted or written.

    ``offset`` counts bytes from the start of the records field to the batch or field at fault.
    """

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(reason, offset)  # as args, so it pickles for Spark
        self.reason, self.offset = reason, offset

    def __str__(self) -> str:
        return f"records, byte {self.offset}: {self.reason}"


class CorruptRecordError(RecordError):
    """Bytes that are not the records they claim to be: lengths, checksum, compressed data (CORRUPT_MESSAGE, 2)."""


class DecompressionLimitError(CorruptRecordError):
    """Compressed data that holds more than the caller allows."""


class InvalidRecordError(RecordError):
    """Sound bytes that break a rule of the log: counts, offsets, who may write what (INVALID_RECORD, 87)."""


class UnsupportedCompressionError(RecordError):
    """A codec that the format or the reader does not have, such as zstd before magic 2 (UNSUPPORTED_COMPRESSION_TYPE,
    76).
    """
