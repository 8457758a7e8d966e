"""The entries of access control in the image: what records bring and take, and what a restart finds again."""

from __future__ import annotations

from mockbroker.access_control.acls import entries_of
from mockbroker.state.image import Image
from protocol.embedded.metadata_acls import AccessControlEntryRecord, RemoveAccessControlEntryRecord

ENTRY = AccessControlEntryRecord(id=bytes(15) + b"e", principal="User:ann")
OTHER = AccessControlEntryRecord(id=bytes(15) + b"f", principal="User:bob")


def image_of(*records: object) -> Image:
    image = Image()
    for record in records:
        image.apply(record)
    return image


def test_what_a_record_brings_another_takes_away():
    assert list(entries_of(image_of(ENTRY, OTHER)).values()) == [ENTRY, OTHER]
    assert image_of(ENTRY, RemoveAccessControlEntryRecord(id=ENTRY.id)) == Image()


def test_a_removal_of_an_entry_that_is_not_there_changes_nothing():
    assert image_of(RemoveAccessControlEntryRecord(id=ENTRY.id)) == Image()


def test_a_snapshot_of_the_metadata_has_the_entries():
    image = image_of(ENTRY, OTHER)
    assert image_of(*image.metadata_records()) == image


def test_a_copy_does_not_change_with_the_image():
    image = image_of(ENTRY)
    copy = image.copy()
    image.apply(OTHER)
    assert copy == image_of(ENTRY)
