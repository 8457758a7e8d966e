"""Kafka's rack awareness: placement of replicas, assignment of partitions, replica selection, the cost of outages.

The names below are loaded at their first use, so that ``import kafka_rack`` stays quick.

>>> import kafka_rack
>>> kafka_rack.select_replica("rack-aware", "b", {"leader": 0, "replicas": []})
0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_rack.assignment import assign as assign
    from kafka_rack.audit import Audit as Audit
    from kafka_rack.audit import Finding as Finding
    from kafka_rack.cluster_layout import ClusterLayout as ClusterLayout
    from kafka_rack.cluster_layout import layout_of_json as layout_of_json
    from kafka_rack.errors import InputError as InputError
    from kafka_rack.errors import InvalidPartitionsError as InvalidPartitionsError
    from kafka_rack.errors import InvalidReplicationFactorError as InvalidReplicationFactorError
    from kafka_rack.errors import KafkaRackError as KafkaRackError
    from kafka_rack.errors import MissingRackError as MissingRackError
    from kafka_rack.errors import PartitionAssignorError as PartitionAssignorError
    from kafka_rack.errors import PlacerSettingsError as PlacerSettingsError
    from kafka_rack.errors import ReplicaPlacementError as ReplicaPlacementError
    from kafka_rack.errors import SelectionError as SelectionError
    from kafka_rack.placement import ReplicaPlacer as ReplicaPlacer
    from kafka_rack.placement import UsableBroker as UsableBroker
    from kafka_rack.placement import load_placer as load_placer
    from kafka_rack.placement import place as place
    from kafka_rack.placement import reassignment_json as reassignment_json
    from kafka_rack.reassignment import Entry as Entry
    from kafka_rack.reassignment import Repair as Repair
    from kafka_rack.reassignment import current_plan_of as current_plan_of
    from kafka_rack.reassignment import entries_of as entries_of
    from kafka_rack.reassignment import plan_json as plan_json
    from kafka_rack.reassignment import propose as propose
    from kafka_rack.reassignment import repair as repair
    from kafka_rack.selection import select_replica as select_replica
    from kafka_rack.writers import next_partition as next_partition
    from mockbroker import MockCluster as MockCluster

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
    "writers",
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
    "next_partition": "kafka_rack.writers",
    "place": "kafka_rack.placement",
    "plan_json": "kafka_rack.reassignment",
    "propose": "kafka_rack.reassignment",
    "reassignment_json": "kafka_rack.placement",
    "repair": "kafka_rack.reassignment",
    "select_replica": "kafka_rack.selection",
}
"""Public name -> the module that holds it."""


if not TYPE_CHECKING:  # else type checkers accept every name, misspelt ones too

    def __getattr__(name: str) -> object:
        if name in NAMES:
            value = getattr(import_module(NAMES[name]), name)
        elif name in SUBMODULES:
            value = import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*NAMES, *SUBMODULES})
