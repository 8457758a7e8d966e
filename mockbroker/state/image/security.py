"""Passwords.

Source: MetadataImage.write and ScramDelta, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

from protocol.embedded.metadata_security import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image


def set_credential(image: Image, record: UserScramCredentialRecord) -> None:
    image.scram_credentials[record.name, record.mechanism] = record


def remove_credential(image: Image, record: RemoveUserScramCredentialRecord) -> None:
    image.scram_credentials.pop((record.name, record.mechanism), None)


def own_records(records: dict[Any, Any]) -> Iterable[Any]:
    """The records themselves, which the image stores."""
    return records.values()


def extension_records(extensions: dict[str, dict[Any, Any]]) -> Iterable[Any]:
    """The records of optional parts, which the image stores."""
    return chain.from_iterable(map(own_records, extensions.values()))


APPLY: dict[type, Apply] = {
    UserScramCredentialRecord: set_credential,
    RemoveUserScramCredentialRecord: remove_credential,
}
