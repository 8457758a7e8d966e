"""ZooKeeper mode in JSON: the ``zookeeper`` object of ``GET /cluster``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from mockbroker.state.settings import PROTOCOL_SETTING
from mockbroker.zookeeper.controller import BROKER_IDS, UpdateDelivery

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster


class ZooKeeperBrokerView(msgspec.Struct):
    """A broker in ZooKeeper mode: its software, the last update sent to it, and the live brokers in its cache."""

    id: int
    release: str
    protocol: str = msgspec.field(name=PROTOCOL_SETTING)
    update_metadata: UpdateDelivery | None
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
        last = dict(zookeeper.deliveries)
        return cls(
            controller_epoch=zookeeper.controller_epoch,
            problem=zookeeper.problem,
            registrations={
                f"{BROKER_IDS}/{broker_id}": json.loads(one.data) for broker_id, one in zookeeper.registrations.items()
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
