"""Replicas for new partitions, by the placer that the settings name (KIP-660).

Without one it is KIP-36's rack-aware placement, whose first leader is the first broker of the list unless a seed or a
start index is set: a test cluster is easier to foretell that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kafka_rack.errors import InvalidReplicationFactorError, KafkaRackError
from mockbroker.state.errors import ApiError
from mockbroker.state.settings import Settings
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kafka_rack.placement import ReplicaPlacer
    from mockbroker.state.brokers import Broker

PLACER = "replica.placer.class.name"
SEED = "replica.placer.seed"
START_INDEX = "replica.placer.start.index"
SHIFT = "replica.placer.next.replica.shift"


def make_placer(settings: Settings, *, kip_36: bool = False) -> ReplicaPlacer:
    """The placer of a cluster with these settings; with ``kip_36`` the rack-aware one, whatever they name.

    Raises PlacerSettingsError.
    """
    from kafka_rack.placement import load_placer

    given = {name: str(value) for name, value in settings.items() if not (kip_36 and name == PLACER)}
    if SEED not in given and START_INDEX not in given:
        given |= {START_INDEX: "0", SHIFT: given.get(SHIFT, "0")}
    return load_placer(given)


def place_partitions(
    placer: ReplicaPlacer,
    brokers: Iterable[Broker],
    first_partition: int,
    partitions: int,
    replicas: int,
    racks: Mapping[int, str | None] | None = None,
) -> list[tuple[int, ...]]:
    """Replicas of ``partitions`` new partitions. Where some brokers have no rack, racks are left out (KIP-36).

    Args:
        racks: by broker, where the placer is not to see the brokers' own.

    Raises ApiError: INVALID_REPLICATION_FACTOR, REPLICA_PLACEMENT_FAILED with the placer's own message.
    """
    from kafka_rack.placement import UsableBroker, place_checked

    usable = [
        UsableBroker(broker.id, broker.rack if racks is None else racks.get(broker.id), not broker.online)
        for broker in brokers
    ]
    try:
        rows = place_checked(placer, first_partition, partitions, replicas, usable)
    except InvalidReplicationFactorError as error:
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, str(error)) from None
    except KafkaRackError as error:
        raise ApiError(ErrorCode.REPLICA_PLACEMENT_FAILED, str(error)) from None
    return [tuple(row) for row in rows]
