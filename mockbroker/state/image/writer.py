"""The only way to change the image: records are first written to a log, then applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mockbroker.state.image.image import Image


class RecordLog(Protocol):
    """The log of records, for example a list."""

    def append(self, records: Sequence[object], /) -> object:
        """Store records that will be applied together, in this order; they do not change afterwards."""


@dataclass(slots=True, eq=False)
class ImageWriter:
    """An image, and the log of its records; without a log they are not stored.

    >>> from protocol.embedded.metadata_settings import FeatureLevelRecord
    >>> log = []
    >>> writer = ImageWriter(record_log=log)
    >>> writer.commit([FeatureLevelRecord(name="kraft.version", feature_level=1)])
    >>> writer.image.features, len(log)
    ({'kraft.version': 1}, 1)
    """

    image: Image = field(default_factory=Image)
    record_log: RecordLog | None = None

    def commit(self, records: Iterable[object]) -> None:
        """Store records, then apply them; the caller has checked them.

        Raises ApiError: KAFKA_STORAGE_ERROR, records cannot be stored. Nothing is applied then.
        """
        if self.record_log is not None:
            records = list(records)
            if records:
                self.record_log.append(records)
        apply = self.image.apply
        for record in records:
            apply(record)
