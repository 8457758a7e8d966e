"""The records that register a broker, let it serve, and stop that.

Source: ClusterControlManager.registerBroker and ReplicationControlManager.handleBrokerFenced, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.image.brokers import FENCED, UNFENCED, BrokerRegistration
from mockbroker.state.security.protocols import SECURITY_PROTOCOLS
from protocol.embedded.metadata_brokers import BrokerRegistrationChangeRecord, RegisterBrokerRecord


def registration(broker: Broker, epoch: int) -> RegisterBrokerRecord:
    """A broker begins a life, fenced at first. The incarnation's id is made of what tells it from every other."""
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
    """A broker may no longer serve, or may from now on."""
    return BrokerRegistrationChangeRecord(
        broker_id=registered.id, broker_epoch=registered.epoch, fenced=FENCED if fenced else UNFENCED
    )
