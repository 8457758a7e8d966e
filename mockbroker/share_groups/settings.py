"""The configs that affect share groups: all of their names but a few."""

from __future__ import annotations

from mockbroker.state.configs.definitions import BROKER, GROUP, names

WITHOUT_EFFECT = frozenset(
    {
        "group.share.assignment.interval.ms",
        "group.share.assignor.offload.enable",
        "group.share.assignors",
        "group.share.dlq.manager.class.name",
        "group.share.initialize.retry.interval.ms",
        "group.share.persister.class.name",
        "share.assignor.offload.enable",
        "share.coordinator.append.linger.ms",
        "share.coordinator.cached.buffer.max.bytes",
        "share.coordinator.load.buffer.size",
        "share.coordinator.state.topic.compression.codec",
        "share.coordinator.threads",
        "share.coordinator.write.timeout.ms",
        "share.fetch.purgatory.purge.interval.requests",
    }
)
EFFECTIVE = {
    kind: tuple(one for one in names(kind) if one.startswith(("group.share.", "share.")) and one not in WITHOUT_EFFECT)
    for kind in (BROKER, GROUP)
}
"""Names of Kafka's configs, by kind."""
