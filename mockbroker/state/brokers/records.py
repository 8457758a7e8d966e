"""The records that register, fence and unfence a broker.

Source: ClusterControlManager.registerBroker and ReplicationControlManager.handleBrokerFenced, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.image.brokers import FENCED, UNFENCED, BrokerRegistration
from mockbroker.state.security.protocols import SECURITY_PROTOCOLS
from protocol.embedded.metadata_brokers import BrokerRegistrationChangeRecord, RegisterBrokerRecord


def registration(broker: Broker, epoch: int) -> RegisterBrokerRecord:
    """The registration of a broker that starts, fenced. Its incarnation id is made of epoch and broker id."""
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=epoch.to_bytes(8) + broker.id.to_bytes(8),
        broker_epoch=epoch,
        end_points=[
            RegisterBrokerRecord.Endpoint(
                name=one.name, host=one.host, port=one.port, security_protocol=SECURITY_PROTOCOLS[one.protocol]
            )
            for one in broker.listeners
        ],
        rack=broker.rack,
        fenced=True,
    )


def fencing(registered: BrokerRegistration, *, fenced: bool) -> BrokerRegistrationChangeRecord:
    """The record that fences or unfences a broker."""
    return BrokerRegistrationChangeRecord(
        broker_id=registered.id, broker_epoch=registered.epoch, fenced=FENCED if fenced else UNFENCED
    )
