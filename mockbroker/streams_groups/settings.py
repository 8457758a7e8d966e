"""The configs that affect Streams groups."""

from __future__ import annotations

EFFECTIVE: dict[str, tuple[str, ...]] = {
    "group": (
        "streams.acceptable.recovery.lag",
        "streams.assignment.interval.ms",
        "streams.assignor.name",
        "streams.heartbeat.interval.ms",
        "streams.initial.rebalance.delay.ms",
        "streams.num.standby.replicas",
        "streams.rack.aware.assignment.tags",
        "streams.session.timeout.ms",
        "streams.task.offset.interval.ms",
    ),
    "broker": (
        "group.streams.acceptable.recovery.lag",
        "group.streams.assignment.interval.ms",
        "group.streams.assignors",
        "group.streams.heartbeat.interval.ms",
        "group.streams.initial.rebalance.delay.ms",
        "group.streams.max.assignment.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
        "group.streams.max.session.timeout.ms",
        "group.streams.max.size",
        "group.streams.max.standby.replicas",
        "group.streams.max.warmup.replicas",
        "group.streams.min.assignment.interval.ms",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.min.session.timeout.ms",
        "group.streams.min.task.offset.interval.ms",
        "group.streams.num.standby.replicas",
        "group.streams.rack.aware.assignment.tags",
        "group.streams.session.timeout.ms",
        "group.streams.task.offset.interval.ms",
    ),
}
"""Names of Kafka's configs, by kind."""
