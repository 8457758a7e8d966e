"""The settings of a share group that its share partitions go by.

Source: ShareGroupConfigProvider, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.share_groups.state.partition import ShareLimits

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster


def share_limits(cluster: Cluster, group_id: str) -> ShareLimits:
    """What a group's share partitions go by now."""
    value = cluster.configs.group
    return ShareLimits(
        value(group_id, "share.record.lock.duration.ms"),
        value(group_id, "share.delivery.count.limit"),
        value(group_id, "share.partition.max.record.locks"),
        value(group_id, "share.renew.acknowledge.enable"),
    )
