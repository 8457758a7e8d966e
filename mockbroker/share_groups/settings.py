"""The configs that affect share groups."""

from __future__ import annotations

EFFECTIVE: dict[str, tuple[str, ...]] = {
    "group": (
        "share.assignment.interval.ms",
        "share.auto.offset.reset",
        "share.delivery.count.limit",
        "share.heartbeat.interval.ms",
        "share.isolation.level",
        "share.partition.max.record.locks",
        "share.record.lock.duration.ms",
        "share.renew.acknowledge.enable",
        "share.session.timeout.ms",
    ),
    "broker": (
        "group.share.delivery.count.limit",
        "group.share.heartbeat.interval.ms",
        "group.share.max.assignment.interval.ms",
        "group.share.max.delivery.count.limit",
        "group.share.max.heartbeat.interval.ms",
        "group.share.max.partition.max.record.locks",
        "group.share.max.record.lock.duration.ms",
        "group.share.max.session.timeout.ms",
        "group.share.max.share.sessions",
        "group.share.max.size",
        "group.share.min.assignment.interval.ms",
        "group.share.min.delivery.count.limit",
        "group.share.min.heartbeat.interval.ms",
        "group.share.min.partition.max.record.locks",
        "group.share.min.record.lock.duration.ms",
        "group.share.min.session.timeout.ms",
        "group.share.partition.max.record.locks",
        "group.share.record.lock.duration.ms",
        "group.share.session.timeout.ms",
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "share.coordinator.snapshot.update.records.per.snapshot",
        "share.coordinator.state.topic.prune.interval.ms",
    ),
}
"""Names of Kafka's configs, by kind."""
