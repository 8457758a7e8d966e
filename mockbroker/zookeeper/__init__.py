"""ZooKeeper mode and its releases: registrations, the controller, and its updates to brokers."""

from __future__ import annotations

from mockbroker.parts import OptionalPart

PART = OptionalPart(
    settings={
        "zookeeper.session.timeout.ms": 18000,
        "zookeeper.connect": "",  # any value selects ZooKeeper mode; the only ZooKeeper is ours
    },
    handlers_by_release={6: "mockbroker.zookeeper.update_metadata"},
    cluster_views={"zookeeper": "mockbroker.zookeeper.cluster_json:ZooKeeperView"},
    metadata_support="mockbroker.zookeeper.controller:zookeeper_mode_of",
    update_channels="mockbroker.zookeeper.controller_channels:ControllerChannels",
)
