"""Who keeps the records that change the image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class RecordLog(Protocol):
    """Whoever keeps the records; a list will do."""

    def append(self, records: Sequence[object], /) -> object:
        """Keep records that are about to be applied together, in this order; they do not change afterwards."""
