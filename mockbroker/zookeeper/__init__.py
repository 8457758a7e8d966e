"""ZooKeeper mode and its releases: registrations, the controller, and what it tells brokers."""

from __future__ import annotations

from mockbroker.parts import OptionalPart

PART = OptionalPart(
    handlers_by_release={6: "mockbroker.zookeeper.update_metadata"},
    metadata_support="mockbroker.zookeeper.controller:zookeeper_mode_of",
    update_channels="mockbroker.zookeeper.controller_channels:ControllerChannels",
)
