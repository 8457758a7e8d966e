"""The groups of a cluster: what they see of its topics, its settings and its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.state.groups.coordinator import Groups
from mockbroker.state.groups.modern.group import GroupConfigs
from mockbroker.state.groups.modern.rules import rules_of
from mockbroker.state.groups.modern.topics import GroupTopics
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster


def groups_of(cluster: Cluster) -> Groups:
    """The groups that a cluster is to run; none yet."""
    topics = GroupTopics(
        cluster.topics,
        cluster.topic_by_id,
        lambda: {broker.id: broker.rack for broker in cluster.brokers.values()},
        lambda: cluster.version,
    )
    return Groups(
        cluster.settings,
        cluster.woken.append,
        cluster.writer,
        cluster.timers,
        cluster.clock,
        lambda: bool(cluster.online_brokers()),
        lambda group_id: cluster.internal_topics.has_coordinator(OFFSETS_TOPIC, group_id),
        topics,
        GroupConfigs(lambda name: cluster.configs.broker(None, name), cluster.configs.group),
        rules_of(cluster.release),
        lambda: cluster.now_ms,
    )
