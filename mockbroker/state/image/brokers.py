"""Registered brokers: their listeners, racks, and fencing.

Source: MetadataImage.write, ClusterDelta and BrokerRegistration.cloneWith, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING

from protocol.embedded.metadata_brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image

FENCED, UNFENCED = 1, -1  # BrokerRegistrationChangeRecord.Fenced


def register(image: Image, record: RegisterBrokerRecord) -> None:
    """Store a registration, which is renewed at each start; the broker serves once it is unfenced."""
    image.brokers[record.broker_id] = copy(record)


def records(brokers: dict[int, RegisterBrokerRecord]) -> Iterator[RegisterBrokerRecord]:
    return map(copy, brokers.values())


def unregister(image: Image, record: UnregisterBrokerRecord) -> None:
    del image.brokers[record.broker_id]


def change(image: Image, record: BrokerRegistrationChangeRecord) -> None:
    broker = image.brokers[record.broker_id]
    assert broker.broker_epoch == record.broker_epoch, (broker.broker_epoch, record.broker_epoch)
    if record.fenced:
        broker.fenced = record.fenced == FENCED
    if record.in_controlled_shutdown:
        broker.in_controlled_shutdown = True


def fence(image: Image, record: FenceBrokerRecord) -> None:
    image.brokers[record.id].fenced = True


def unfence(image: Image, record: UnfenceBrokerRecord) -> None:
    image.brokers[record.id].fenced = False


APPLY: dict[type, Apply] = {
    RegisterBrokerRecord: register,
    UnregisterBrokerRecord: unregister,
    BrokerRegistrationChangeRecord: change,
    FenceBrokerRecord: fence,
    UnfenceBrokerRecord: unfence,
}
