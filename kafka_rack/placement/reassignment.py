"""The JSON of Kafka's partition reassignment tool.

Source: kafka-reassign-partitions; the form is recorded in fixtures/oracle.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from kafka_rack.java import utf16_key


def reassignment_json(layout: Mapping[str, Sequence[Sequence[int]]]) -> str:
    """A layout in the tool's format, byte for byte: sorted by topic, then partition; any log directory.

    Args:
        layout: topic -> the replicas of partition 0, 1, ..., preferred leader first.

    >>> reassignment_json({"orders": [[1, 2]]})
    '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}'
    """
    partitions = [
        {
            "topic": topic,
            "partition": number,
            "replicas": list(replicas),
            "log_dirs": ["any"] * len(replicas),
        }
        for topic in sorted(layout, key=utf16_key)
        for number, replicas in enumerate(layout[topic])
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"), ensure_ascii=False)
