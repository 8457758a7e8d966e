"""Access control's entries in the image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protocol.embedded.metadata_security import AccessControlEntryRecord


class AclEntries(dict[bytes, "AccessControlEntryRecord"]):
    """Records by the entry's id; changed by ``put`` and ``drop`` alone.

    ``index`` is what the authorizer has made of them; each change forgets it.
    """

    __slots__ = ("index",)

    def __init__(self, records: dict[bytes, AccessControlEntryRecord] | None = None) -> None:
        super().__init__(records or {})
        self.index: Any = None

    def put(self, record: AccessControlEntryRecord) -> None:
        """Add an entry."""
        self[record.id] = record
        self.index = None

    def drop(self, id_: bytes) -> None:
        """Remove an entry, if it is there."""
        self.pop(id_, None)
        self.index = None
