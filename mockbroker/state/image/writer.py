"""The one way into the image, and the log of its records: records are written there first, then applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mockbroker.state.image.image import Image


class RecordLog(Protocol):
    """The keeper of the records; a list will do."""

    def append(self, records: Sequence[object], /) -> object:
        """Keep records that are about to be applied together, in this order; they do not change afterwards."""


@dataclass(slots=True, eq=False)
class ImageWriter:
    """An image, and the log that its records go to; without one they are not kept.

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
        """Keep records, then apply them; they have been checked before.

        Raises ApiError: KAFKA_STORAGE_ERROR, records cannot be kept. Nothing is applied then.
        """
        if self.record_log is not None:
            records = list(records)
            if records:
                self.record_log.append(records)
        apply = self.image.apply
        for record in records:
            apply(record)
