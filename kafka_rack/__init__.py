"""Kafka's rack awareness: where replicas go, who consumes what, which replica serves whom, what an outage costs.

The names below are loaded when they are first used, so that ``import kafka_rack`` stays quick.

>>> import kafka_rack
>>> kafka_rack.select_replica("rack-aware", "b", {"leader": 0, "replicas": []})
0
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

SUBMODULES = (
    "assignment",
    "audit",
    "availability",
    "cluster_layout",
    "diskless",
    "errors",
    "locality",
    "placement",
    "reassignment",
    "selection",
)

NAMES = {
    "Audit": "kafka_rack.audit",
    "ClusterLayout": "kafka_rack.cluster_layout",
    "Entry": "kafka_rack.reassignment",
    "Finding": "kafka_rack.audit",
    "InputError": "kafka_rack.errors",
    "InvalidPartitionsError": "kafka_rack.errors",
    "InvalidReplicationFactorError": "kafka_rack.errors",
    "KafkaRackError": "kafka_rack.errors",
    "MissingRackError": "kafka_rack.errors",
    "MockCluster": "mockbroker",
    "PartitionAssignorError": "kafka_rack.errors",
    "PlacerSettingsError": "kafka_rack.errors",
    "Repair": "kafka_rack.reassignment",
    "ReplicaPlacementError": "kafka_rack.errors",
    "ReplicaPlacer": "kafka_rack.placement",
    "SelectionError": "kafka_rack.errors",
    "UsableBroker": "kafka_rack.placement",
    "assign": "kafka_rack.assignment",
    "current_plan_of": "kafka_rack.reassignment",
    "entries_of": "kafka_rack.reassignment",
    "layout_of_json": "kafka_rack.cluster_layout",
    "load_placer": "kafka_rack.placement",
    "place": "kafka_rack.placement",
    "plan_json": "kafka_rack.reassignment",
    "propose": "kafka_rack.reassignment",
    "reassignment_json": "kafka_rack.placement",
    "repair": "kafka_rack.reassignment",
    "select_replica": "kafka_rack.selection",
}
"""Public name -> the module that holds it."""


def __getattr__(name: str) -> Any:
    if name in NAMES:
        value = getattr(import_module(NAMES[name]), name)
    elif name in SUBMODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES, *SUBMODULES})
