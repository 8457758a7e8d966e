"""Share groups (KIP-932): members read the same partitions together; each record is acquired by one member at a time.

``handlers/`` has the APIs, ``groups/`` the members and their assignment, ``state/`` the share partitions and the state
that share coordinators persist.
"""

from __future__ import annotations

from mockbroker.parts import CoordinatorTopic, OptionalPart

PART = OptionalPart(
    settings={
        "share.coordinator.state.topic.min.isr": 2,
        "share.coordinator.state.topic.num.partitions": 50,
        "share.coordinator.state.topic.replication.factor": 3,
        "share.coordinator.state.topic.segment.bytes": 104857600,
    },
    effective_settings="mockbroker.share_groups.settings:EFFECTIVE",
    handlers={
        family: f"mockbroker.share_groups.handlers.{family}"
        for family in ("share_group", "share_fetch", "share_state", "share_offsets")
    },
    apis_with_records=("ShareFetch",),
    group_classes={"share_group_log": "mockbroker.share_groups.groups.group:ShareGroup"},
    extensions={"share": "mockbroker.share_groups.state.share_partitions:SharePartitions"},
    coordinator_topics={
        "__share_group_state": CoordinatorTopic(
            "share.coordinator.state.topic.",
            {"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1"},
            ("share_state_log",),
            key_type=2,
            since_version=6,
            read_key="mockbroker.share_groups.share_states:read_coordinator_key",
            log="mockbroker.share_groups.share_states:share_coordinator",
        )
    },
    followed_share_sessions="mockbroker.share_groups.followed_sessions",
)
