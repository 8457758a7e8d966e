"""ZooKeeper mode in JSON: the ``zookeeper`` object of ``GET /cluster``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from mockbroker.state.settings import PROTOCOL_SETTING

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster


class UpdateMetadataView(msgspec.Struct):
    """The last UpdateMetadata sent to a broker: ``outcome`` is taken, stale, refused or unreachable."""

    version: int
    controller: int
    outcome: str


class ZooKeeperBrokerView(msgspec.Struct):
    """The software of a broker in ZooKeeper mode, and the live brokers in its metadata cache."""

    id: int
    release: str
    protocol: str = msgspec.field(name=PROTOCOL_SETTING)
    update_metadata: UpdateMetadataView | None
    knows_brokers: list[int]


class ZooKeeperView(msgspec.Struct):
    """ZooKeeper mode: the controller's epoch, its problem reading registrations, and the registrations."""

    controller_epoch: int
    problem: str | None
    registrations: dict[str, Any]
    brokers: list[ZooKeeperBrokerView]

    @classmethod
    def of(cls, cluster: Cluster) -> ZooKeeperView | msgspec.UnsetType:
        """The view of a cluster; unset in KRaft mode."""
        zookeeper = cluster.other_mode
        if zookeeper is None:
            return msgspec.UNSET
        last = {
            update.broker_id: UpdateMetadataView(update.version, update.controller_id, outcome)
            for update, outcome in zookeeper.deliveries
        }
        return cls(
            controller_epoch=zookeeper.controller_epoch,
            problem=zookeeper.problem,
            registrations={
                path: json.loads(registration) for path, registration in zookeeper.registry.registrations().items()
            },
            brokers=[
                ZooKeeperBrokerView(
                    id=broker_id,
                    release=str(software.release),
                    protocol=str(software.protocol),
                    update_metadata=last.get(broker_id),
                    knows_brokers=sorted(zookeeper.caches[broker_id].brokers),
                )
                for broker_id, software in sorted(zookeeper.running.items())
            ],
        )
