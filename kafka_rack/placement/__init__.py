"""Placement of replicas: Kafka's placers, with identical results, and those of its proposals.

``place`` is one placement as a pure function; clusters use ``load_placer`` and ``place_checked``, with KIP-660's
ReplicaPlacer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_rack.collector import collector_paused
from kafka_rack.errors import PlacerSettingsError
from kafka_rack.placement.broker_replica import UNEVEN_SETTING, BrokerReplicaPlacer, broker_groups
from kafka_rack.placement.copyset import SCATTER_WIDTH_SETTING, CopysetPlacer
from kafka_rack.placement.loading import (
    BUILT_IN,
    CLASS_SETTING,
    ENTRY_POINT_GROUP,
    PLACER_SETTINGS,
    close_placer,
    is_built_in,
    load_placer,
    placer_names,
)
from kafka_rack.placement.placer import (
    DISABLED,
    ENFORCED,
    MAX_REPLICAS,
    RACK_MODES,
    SAFE,
    SEED_SETTING,
    SHIFT_SETTING,
    START_INDEX_SETTING,
    ReplicaPlacer,
    UsableBroker,
    apply_rack_mode,
    check_request,
    missing_racks,
    place_checked,
)
from kafka_rack.placement.rack_aware import RackAwarePlacer, UnawarePlacer, rack_alternated, start_index_of_growth
from kafka_rack.placement.reassignment import reassignment_json
from kafka_rack.placement.scenarios import (
    STATE_FILE_SETTING,
    BrokerState,
    CapacityPlacer,
    DecommissionedBrokersPlacer,
    NewBrokersPlacer,
)
from kafka_rack.placement.striped import StripedPlacer

__all__ = [
    "BUILT_IN",
    "CLASS_SETTING",
    "DISABLED",
    "ENFORCED",
    "ENTRY_POINT_GROUP",
    "MAX_REPLICAS",
    "PLACER_SETTINGS",
    "RACK_MODES",
    "SAFE",
    "SCATTER_WIDTH_SETTING",
    "SEED_SETTING",
    "SHIFT_SETTING",
    "START_INDEX_SETTING",
    "STATE_FILE_SETTING",
    "UNEVEN_SETTING",
    "BrokerReplicaPlacer",
    "BrokerState",
    "CapacityPlacer",
    "CopysetPlacer",
    "DecommissionedBrokersPlacer",
    "NewBrokersPlacer",
    "RackAwarePlacer",
    "ReplicaPlacer",
    "StripedPlacer",
    "UnawarePlacer",
    "UsableBroker",
    "apply_rack_mode",
    "broker_groups",
    "check_request",
    "close_placer",
    "is_built_in",
    "load_placer",
    "missing_racks",
    "place",
    "place_checked",
    "placer_names",
    "rack_alternated",
    "reassignment_json",
    "start_index_of_growth",
]


def place(
    placer: str,
    brokers: Sequence[UsableBroker],
    start_partition: int,
    num_partitions: int,
    num_replicas: int,
    *,
    start_index: int | None = None,
    next_replica_shift: int | None = None,
    seed: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> list[list[int]]:
    """Place partitions once with a built-in placer, as the Java classes do for the same input.

    Args:
        placer: a name of ``BUILT_IN``.
        brokers: their order matters if racks do not: for ``unaware``, and for ``rack-aware`` if no broker has a rack.
        start_index, next_replica_shift: rotation of leaders and of followers, for ``rack-aware`` and ``unaware``;
            drawn in this order from ``seed`` if it is set, else 0. ``striped`` uses a start index only if it is set.
        seed: of java.util.Random; default for ``striped``: 0.
        settings: further settings of the placer, such as ``replica.placer.scatter.width``.

    Returns: one row per partition, leader first.

    Raises:
        InvalidReplicationFactorError: below 1, above the brokers, or all brokers are fenced.
        ReplicaPlacementError: or a subclass: InvalidPartitionsError, MissingRackError, DuplicateBrokerError.

    >>> place("unaware", [UsableBroker(id) for id in range(3)], 0, 2, 2)
    [[0, 1], [1, 2]]
    """
    if placer not in BUILT_IN:
        raise PlacerSettingsError(f"placer: expected one of {', '.join(sorted(BUILT_IN))}, got {placer!r}")
    check_request(num_partitions, num_replicas, brokers)
    chosen = BUILT_IN[placer]()
    given = dict(settings or {})
    if seed is not None:
        given[SEED_SETTING] = str(seed)
    elif start_index is None and placer != "striped":
        start_index = 0
    if start_index is not None:
        given[START_INDEX_SETTING] = str(start_index)
    if next_replica_shift is not None:
        given[SHIFT_SETTING] = str(next_replica_shift)
    chosen.configure(given)
    with collector_paused(num_partitions):
        return chosen.place(start_partition, num_partitions, num_replicas, brokers)
