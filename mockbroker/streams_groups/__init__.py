"""Streams groups, by the streams protocol (KIP-1071)."""

from __future__ import annotations

from mockbroker.parts import OptionalPart

PART = OptionalPart(
    group_configs_check="mockbroker.streams_groups.assigning:check_group_configs",
    effective_settings="mockbroker.streams_groups.settings:EFFECTIVE",
    handlers=dict.fromkeys(("streams_group", "streams_topology"), "mockbroker.streams_groups.streams_group"),
    group_classes={"streams_group_log": "mockbroker.streams_groups.group:StreamsGroup"},
)
