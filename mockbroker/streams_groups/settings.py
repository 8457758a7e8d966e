"""The configs that affect Streams groups: all of their names but a few."""

from __future__ import annotations

from mockbroker.state.configs.definitions import BROKER, GROUP, names

WITHOUT_EFFECT = ("assignor.offload.enable", "num.warmup.replicas", "topology.description.plugin.class")
EFFECTIVE = {
    kind: tuple(one for one in names(kind) if one.startswith(prefix) and not one.endswith(WITHOUT_EFFECT))
    for kind, prefix in ((BROKER, "group.streams."), (GROUP, "streams."))
}
"""Names of Kafka's configs, by kind."""
