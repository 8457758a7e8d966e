"""The metadata of a cluster: all its durable state except the records in its partitions' logs.

Only Kafka's own records, as ``protocol.embedded`` declares them, change the image.
Replaying the records of a run into an empty image makes an equal one. State that a restart loses (fetch sessions,
timers, followers' lag) is elsewhere, and so are logs, including those of coordinators (``coordinator_shard``).

Where a record replaces another as a whole, the image stores the record; where records change parts of an object, the
object has its own class here.

Source: MetadataImage and MetadataDelta, Apache Kafka 4.4.

>>> from protocol.embedded.metadata_settings import FeatureLevelRecord
>>> image = Image()
>>> image.apply(FeatureLevelRecord(name="metadata.version", feature_level=29))
>>> image.features
{'metadata.version': 29}
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mockbroker.parts import merged

if TYPE_CHECKING:
    from mockbroker.state.image.topics import TopicImage
    from protocol.embedded.metadata_brokers import RegisterBrokerRecord
    from protocol.embedded.metadata_security import UserScramCredentialRecord


TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4  # ConfigResource.Type
CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 16, 32
FIRST_PRODUCER_ID = 1000  # Kafka starts at 0, which some clients send for "none"

TopicPartition = tuple[str, int]
QuotaEntity = tuple[tuple[str, str | None], ...]  # (type, name) each; None: the default entity
Apply = Callable[["Image", Any], None]


def made_by(function: str) -> dict[str, str]:
    """A field whose content is in the metadata log.

    ``function`` is a ``module.function`` of this package, which makes the records of a value; a snapshot of the log
    has them, in the order of the fields.
    """
    return {"records": function}


def copied(value: Any) -> Any:
    """An equal value that changes independently."""
    if type(value) is dict:
        return {key: copied(one) for key, one in value.items()}
    return value.copy() if hasattr(value, "copy") else copy.copy(value)


@dataclass(slots=True, repr=False)
class Image:
    """The metadata that survives a restart, by subject. Any code may read it; only ``apply`` writes.

    Each field declares which records of the metadata log it has.
    """

    # the cluster
    features: dict[str, int] = field(
        default_factory=dict, metadata=made_by("settings.feature_records")
    )  # level by name
    brokers: dict[int, RegisterBrokerRecord] = field(default_factory=dict, metadata=made_by("brokers.records"))
    topics: dict[bytes, TopicImage] = field(default_factory=dict, metadata=made_by("topics.records"))  # by topic id
    configs: dict[tuple[int, str], dict[str, str]] = field(
        default_factory=dict, metadata=made_by("settings.config_records")
    )  # by resource type and name

    # producers
    next_producer_id: int = field(default=FIRST_PRODUCER_ID, metadata=made_by("settings.producer_id_records"))
    """The id after the last allocated block."""

    # security
    scram_credentials: dict[tuple[str, int], UserScramCredentialRecord] = field(
        default_factory=dict, metadata=made_by("security.own_records")
    )  # by user and mechanism
    extensions: dict[str, dict[Any, Any]] = field(default_factory=dict, metadata=made_by("security.extension_records"))
    """The records of the metadata log that belong to optional parts, by part."""
    client_quotas: dict[QuotaEntity, dict[str, float]] = field(
        default_factory=dict, metadata=made_by("settings.quota_records")
    )  # limit by key

    def copy(self) -> Image:
        """An equal image that changes independently."""
        return Image(**{one.name: copied(getattr(self, one.name)) for one in fields(self)})

    def metadata_records(self) -> Iterator[Any]:
        """Records that turn an empty image into one with the same metadata; those of a topic are consecutive."""
        for one in fields(self):
            module, _, function = one.metadata["records"].partition(".")
            records_of = getattr(import_module(f"mockbroker.state.image.{module}"), function)
            yield from records_of(getattr(self, one.name))

    def apply(self, record: object) -> None:
        """Apply a record. It is stored or ignored, never changed, and must not change afterwards.

        Raises TypeError: no subject here has records of this class.
        """
        kind = type(record)
        apply = APPLY.get(kind)
        if apply is None:
            apply = APPLY[kind] = find_apply(kind)
        apply(self, record)


# The module here that applies the records of a module of protocol.embedded; each is loaded with the first
# record of its kind.
SUBJECTS = {
    "protocol.embedded.metadata_brokers": "brokers",
    "protocol.embedded.metadata_security": "security",
    "protocol.embedded.metadata_settings": "settings",
    "protocol.embedded.metadata_topics": "topics",
}
APPLY: dict[type, Apply] = {}  # cache of lookups
assert all(one.metadata for one in fields(Image)), "each field of Image says how it survives a restart"


def find_apply(kind: type) -> Apply:
    """The function that applies records of a class. Raises TypeError."""
    subject = SUBJECTS.get(kind.__module__)
    module = f"mockbroker.state.image.{subject}" if subject else merged("records").get(kind.__module__)
    table: dict[type, Apply] = import_module(module).APPLY if module else {}
    if kind not in table:
        raise TypeError(f"expected a record that the image has a subject for, got {kind.__name__}")
    return table[kind]
