"""Passwords and access control.

Source: MetadataImage.write, ScramDelta and AclsDelta, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from protocol.embedded.metadata_security import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image


def set_credential(image: Image, record: UserScramCredentialRecord) -> None:
    image.scram_credentials[record.name, record.mechanism] = record


def remove_credential(image: Image, record: RemoveUserScramCredentialRecord) -> None:
    image.scram_credentials.pop((record.name, record.mechanism), None)


def add_acl(image: Image, record: AccessControlEntryRecord) -> None:
    image.acls.put(record)


def remove_acl(image: Image, record: RemoveAccessControlEntryRecord) -> None:
    image.acls.drop(record.id)


def own_records(records: dict[Any, Any]) -> Iterable[Any]:
    """The image keeps the records of these themselves."""
    return records.values()


APPLY: dict[type, Apply] = {
    UserScramCredentialRecord: set_credential,
    RemoveUserScramCredentialRecord: remove_credential,
    AccessControlEntryRecord: add_acl,
    RemoveAccessControlEntryRecord: remove_acl,
}
