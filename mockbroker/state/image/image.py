"""The metadata of a cluster: everything durable about it but the records in its partitions' logs.

The image is changed by applying Kafka's own records, as ``protocol.embedded`` declares them, and by nothing else.
Replaying the records of a run into an empty image gives an equal one. What a restart forgets (fetch sessions, timers,
how far followers are behind) is elsewhere, and so are logs, those of coordinators among them (``coordinator_shard``).

Where a record replaces another whole, the image keeps the record; where records change parts of a thing, the thing has
a class of its own here.

Source: MetadataImage and MetadataDelta, Apache Kafka 4.4.

>>> from protocol.embedded.metadata_settings import FeatureLevelRecord
>>> image = Image()
>>> image.apply(FeatureLevelRecord(name="metadata.version", feature_level=29))
>>> image.features
{'metadata.version': 29}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from importlib import import_module
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from mockbroker.parts import merged

if TYPE_CHECKING:
    from mockbroker.state.image.brokers import BrokerRegistration
    from mockbroker.state.image.topics import TopicImage
    from protocol.embedded.metadata_security import UserScramCredentialRecord


TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4  # ConfigResource.Type
CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 16, 32
FIRST_PRODUCER_ID = 1000  # Kafka begins with 0, which some clients send for none

TopicPartition = tuple[str, int]
QuotaEntity = tuple[tuple[str, str | None], ...]  # (type, name) each; None: the default entity
Apply = Callable[["Image", Any], None]
Copy = Callable[[Any], Any]


def of_metadata(copy: Copy, records: str) -> dict[str, Any]:
    """A field whose content is in the metadata log.

    Args:
        copy: returns an equal value that changes by itself.
        records: ``module.function`` of this package, which makes the records of a value; a snapshot of the log has
            them, in the order of the fields.
    """
    return {"copy": copy, "records": records}


def each(copy: Copy) -> Copy:
    """A copy of a dict whose values are copied too."""
    return lambda values: {key: copy(value) for key, value in values.items()}


copied = methodcaller("copy")


@dataclass(slots=True, repr=False)
class Image:
    """The metadata that survives a restart, by subject. Anyone may read it; only ``apply`` writes.

    Each field says how it is copied, and which records of the metadata log have it.
    """

    # the cluster
    features: dict[str, int] = field(
        default_factory=dict, metadata=of_metadata(dict, "settings.feature_records")
    )  # level by name
    brokers: dict[int, BrokerRegistration] = field(
        default_factory=dict, metadata=of_metadata(each(copied), "brokers.records")
    )
    topics: dict[bytes, TopicImage] = field(
        default_factory=dict, metadata=of_metadata(each(copied), "topics.records")
    )  # by topic id
    configs: dict[tuple[int, str], dict[str, str]] = field(
        default_factory=dict, metadata=of_metadata(each(dict), "settings.config_records")
    )  # by resource type and name

    # producers
    next_producer_id: int = field(default=FIRST_PRODUCER_ID, metadata=of_metadata(int, "settings.producer_id_records"))
    """The one after the last block that a broker has."""

    # security
    scram_credentials: dict[tuple[str, int], UserScramCredentialRecord] = field(
        default_factory=dict, metadata=of_metadata(dict, "security.own_records")
    )  # by user and mechanism
    extensions: dict[str, dict[Any, Any]] = field(
        default_factory=dict, metadata=of_metadata(each(copied), "security.extension_records")
    )
    """The records of the metadata log that optional parts keep, by part."""
    client_quotas: dict[QuotaEntity, dict[str, float]] = field(
        default_factory=dict, metadata=of_metadata(each(dict), "settings.quota_records")
    )  # limit by key

    def copy(self) -> Image:
        """An equal image, which changes by itself. The records in it are shared: they stay as they are."""
        return Image(**{one.name: one.metadata["copy"](getattr(self, one.name)) for one in fields(self)})

    def metadata_records(self) -> Iterator[Any]:
        """Records that make an image with the same metadata of an empty one; those of a topic follow each other."""
        for one in fields(self):
            module, _, function = one.metadata["records"].partition(".")
            records_of = getattr(import_module(f"mockbroker.state.image.{module}"), function)
            yield from records_of(getattr(self, one.name))

    def apply(self, record: object) -> None:
        """Take a record in. The record is kept or left alone, never changed, and has to stay as it is.

        Raises TypeError: no subject here has records of this class.
        """
        kind = type(record)
        apply = APPLY.get(kind)
        if apply is None:
            apply = APPLY[kind] = find_apply(kind)
        apply(self, record)


# The module here that applies the records which a module of protocol.embedded declares; each is loaded with the first
# record of its kind.
SUBJECTS = {
    "protocol.embedded.metadata_brokers": "brokers",
    "protocol.embedded.metadata_security": "security",
    "protocol.embedded.metadata_settings": "settings",
    "protocol.embedded.metadata_topics": "topics",
}
APPLY: dict[type, Apply] = {}  # what was looked up so far
assert all(one.metadata for one in fields(Image)), "each field of Image says how it survives a restart"


def find_apply(kind: type) -> Apply:
    """The function that applies records of a class. Raises TypeError."""
    subject = SUBJECTS.get(kind.__module__)
    module = f"mockbroker.state.image.{subject}" if subject else merged("records").get(kind.__module__)
    table: dict[type, Apply] = import_module(module).APPLY if module else {}
    if kind not in table:
        raise TypeError(f"expected a record that the image has a subject for, got {kind.__name__}")
    return table[kind]
