"""Registered brokers: their listeners, racks, and fencing.

Source: MetadataImage.write, ClusterDelta and BrokerRegistration.cloneWith, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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


EndPoint = tuple[str, str, int, int]
"""A broker's address for clients: the listener's name, host, port, and the number of its SecurityProtocol."""


@dataclass(slots=True)
class BrokerRegistration:
    """The registration of a broker, renewed at each start; the broker serves once it is unfenced."""

    id: int
    epoch: int
    incarnation_id: bytes
    end_points: tuple[EndPoint, ...]
    features: dict[str, tuple[int, int]]  # lowest and highest level by name
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool

    def copy(self) -> BrokerRegistration:
        return replace(self)


def register(image: Image, record: RegisterBrokerRecord) -> None:
    image.brokers[record.broker_id] = BrokerRegistration(
        record.broker_id,
        record.broker_epoch,
        record.incarnation_id,
        tuple((one.name, one.host, one.port, one.security_protocol) for one in record.end_points),
        {one.name: (one.min_supported_version, one.max_supported_version) for one in record.features},
        record.rack,
        record.fenced,
        record.in_controlled_shutdown,
    )


def records(brokers: dict[int, BrokerRegistration]) -> Iterator[RegisterBrokerRecord]:
    for broker in brokers.values():
        yield RegisterBrokerRecord(
            broker_id=broker.id,
            incarnation_id=broker.incarnation_id,
            broker_epoch=broker.epoch,
            end_points=[
                RegisterBrokerRecord.Endpoint(name=name, host=host, port=port, security_protocol=protocol)
                for name, host, port, protocol in broker.end_points
            ],
            features=[
                RegisterBrokerRecord.Feature(name=name, min_supported_version=lowest, max_supported_version=highest)
                for name, (lowest, highest) in broker.features.items()
            ],
            rack=broker.rack,
            fenced=broker.fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown,
        )


def unregister(image: Image, record: UnregisterBrokerRecord) -> None:
    del image.brokers[record.broker_id]


def change(image: Image, record: BrokerRegistrationChangeRecord) -> None:
    broker = image.brokers[record.broker_id]
    assert broker.epoch == record.broker_epoch, (broker.epoch, record.broker_epoch)
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
