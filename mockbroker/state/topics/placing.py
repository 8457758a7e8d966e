"""Places replicas of new partitions with the configured placer (KIP-660), after checks.

The default is Kafka's StripedReplicaPlacer, in ZooKeeper mode KIP-36's rack-aware placement. Partition 0 is led in the
first rack unless a seed or a start index is set, which makes a test cluster predictable.

Source: ReplicationControlManager.createTopic and createPartitions, Apache Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from kafka_rack.errors import InvalidReplicationFactorError, KafkaRackError
from mockbroker.state.brokers.log_dirs import is_cordoned
from mockbroker.state.errors import ApiError
from mockbroker.state.settings import KafkaSettings
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kafka_rack.placement import ReplicaPlacer
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster

PLACER = "replica.placer.class.name"
SEED = "replica.placer.seed"
START_INDEX = "replica.placer.start.index"
SHIFT = "replica.placer.next.replica.shift"
NO_NUMBER = -1  # the default
MISSING_RACKS = "Not all brokers have rack information for replica rack aware assignment"
MAX_PARTITIONS = 100_000  # of one topic; Kafka has no such limit, but in a test cluster more is a mistake


def make_placer(settings: KafkaSettings, *, kip_36: bool = False) -> ReplicaPlacer:
    """The placer for these settings, striped by default; with ``kip_36`` always the rack-aware one.

    Raises PlacerSettingsError.
    """
    from kafka_rack.placement import load_placer

    given = {name: str(value) for name, value in settings.items() if not (kip_36 and name == PLACER)}
    if SEED not in given and START_INDEX not in given:
        given |= {START_INDEX: "0", SHIFT: given.get(SHIFT, "0")}
    return load_placer(given, default="rack-aware" if kip_36 else "striped")


def with_places(cluster: Cluster) -> list[Broker]:
    """The brokers that may have replicas, by id; unlike KRaft mode, ZooKeeper mode has none that is down."""
    if not cluster.support.is_kraft:
        return cluster.liveness.online_brokers
    return [broker for broker in cluster.brokers.values() if broker.registration is not None]


def place_partitions(
    cluster: Cluster,
    first: int,
    partitions: int,
    replicas: int,
    *,
    requesting_broker_id: int | None = None,
    all_have_racks: bool = False,
    first_leader: int | None = None,
) -> list[tuple[int, ...]]:
    """The replicas of ``partitions`` new partitions from number ``first`` on.

    Args:
        requesting_broker_id: in ZooKeeper mode the broker that places; its code may not know racks.
        all_have_racks: in ZooKeeper mode, raise an error if only some brokers have a rack.
        first_leader: in ZooKeeper mode the preferred leader of partition 0 of a topic that grows, from which Kafka
            computes the start (AdminZkClient.addPartitions, Apache Kafka 3.9.1), with any placer.

    Raises ApiError: INVALID_REPLICATION_FACTOR, also for a partition without an online broker;
        REPLICA_PLACEMENT_FAILED with the placer's own message; UNKNOWN_SERVER_ERROR for missing racks.
    """
    from kafka_rack import placement

    placer, racks = cluster.placer, cluster.support.racks(requesting_broker_id)
    usable = [
        placement.UsableBroker(one.id, one.rack if racks is None else racks.get(one.id), not one.online)
        for one in with_places(cluster)
        if not is_cordoned(cluster, one.id)
    ]
    if replicas == NO_NUMBER:
        replicas = min(cluster.settings["default.replication.factor"], len(usable))
    if not 0 < replicas <= len(usable):
        brokers = "1 broker is" if len(usable) == 1 else f"{len(usable)} brokers are"
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, f"replication factor {replicas}, but {brokers} registered")
    if not cluster.support.is_kraft:
        if all_have_racks and placement.missing_racks(usable):
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, MISSING_RACKS)
        if first_leader is not None:
            placer = placement.RackAwarePlacer(placement.start_index_of_growth(usable, first_leader))
    try:
        rows = placement.place_checked(placer, first, partitions, replicas, usable)
    except InvalidReplicationFactorError as error:
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, str(error)) from None
    except KafkaRackError as error:
        raise ApiError(ErrorCode.REPLICA_PLACEMENT_FAILED, str(error)) from None
    for row in rows:
        if cluster.liveness.online_ids.isdisjoint(row):
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"replication factor {replicas}, but all of brokers {row} are fenced",
            )
    return [tuple(row) for row in rows]


def rows_by_hand(rows: Sequence[tuple[int, Sequence[int]]], partitions: int, replicas: int) -> list[list[int]]:
    """The replicas of a manual assignment of (partition, brokers), ordered by partition.

    Raises ApiError: INVALID_REQUEST if a number of partitions or replicas is also set;
        INVALID_REPLICA_ASSIGNMENT unless the partitions are 0 and up, each once.
    """
    for what, number in (("replicas", replicas), ("partitions", partitions)):
        if number != NO_NUMBER:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"expected -1 {what}, as replicas are given by hand, got {number}"
            )
    given = sorted(index for index, _ in rows)
    if given != list(range(len(rows))):
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"expected partitions 0 to {len(rows) - 1}, each once, got {given}"
        )
    by_index = dict(rows)
    return [list(by_index[index]) for index in given]


def check_numbers(partitions: int, replicas: int) -> None:
    """Check that the numbers are at least 1, or -1 for the default.

    Raises ApiError: INVALID_REPLICATION_FACTOR, INVALID_PARTITIONS.
    """
    if replicas < 1 and replicas != NO_NUMBER:
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, f"expected 1 replica at least, or -1, got {replicas}")
    if partitions < 1 and partitions != NO_NUMBER:
        raise ApiError(ErrorCode.INVALID_PARTITIONS, f"expected 1 partition at least, or -1, got {partitions}")


def check_partitions(partitions: int) -> None:
    """Check a topic's number of partitions. Raises ApiError: INVALID_PARTITIONS."""
    if not 0 < partitions <= MAX_PARTITIONS:
        raise ApiError(ErrorCode.INVALID_PARTITIONS, f"{partitions} partitions, but 1 to {MAX_PARTITIONS} are possible")


def check_assignment(rows: Sequence[tuple[int, ...]], brokers: Container[int]) -> None:
    """Check that replicas are distinct known brokers, with the same number in each row.

    Raises ApiError: INVALID_REPLICA_ASSIGNMENT.
    """
    for row in rows:
        if not row or len(set(row)) != len(row) or any(one not in brokers for one in row) or len(row) != len(rows[0]):
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"replicas: expected distinct known brokers, as many as in {list(rows[0])}, got {list(row)}",
            )
