"""The entries of access control in the image, which a restart restores.

Source: MetadataImage.write and AclsDelta, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol.embedded.metadata_acls import AccessControlEntryRecord, RemoveAccessControlEntryRecord

if TYPE_CHECKING:
    from mockbroker.access_control.authorizer import AclIndex
    from mockbroker.state.image import Apply, Image

NAME: Final = "acls"


class AclEntries(dict[bytes, AccessControlEntryRecord]):
    """Records by the entry's id; ``index`` is the authorizer's, None after a change."""

    index: AclIndex | None = None

    def copy(self) -> AclEntries:
        return AclEntries(self)


NO_ENTRIES: Final = AclEntries()


def entries_of(image: Image) -> AclEntries:
    """The entries of an image, read-only."""
    entries = image.extensions.get(NAME, NO_ENTRIES)
    assert isinstance(entries, AclEntries)
    return entries


def add_entry(image: Image, record: AccessControlEntryRecord) -> None:
    entries: Any = image.extensions.setdefault(NAME, AclEntries())
    entries[record.id] = record
    entries.index = None


def remove_entry(image: Image, record: RemoveAccessControlEntryRecord) -> None:
    entries = entries_of(image)
    if entries.pop(record.id, None) is None:
        return
    entries.index = None
    if not entries:
        del image.extensions[NAME]


APPLY: dict[type, Apply] = {
    AccessControlEntryRecord: add_entry,
    RemoveAccessControlEntryRecord: remove_entry,
}
