"""The features of a cluster: supported levels, and finalized levels.

Without changes, a cluster has the initial levels of its release. The first change writes all levels to the image, as
Kafka's controller does when it first starts.

Source: KIP-584, KIP-778, KIP-1022; FeatureControlManager, QuorumFeatures, Feature, MetadataVersion, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.image import METADATA_VERSION, feature_records
from mockbroker.state.releases import initial_levels, supported_levels
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

KRAFT_VERSION = "kraft.version"
ELR_VERSION = "eligible.leader.replicas.version"

ELR_NEEDS_METADATA_VERSION = 23  # 4.0-IV1; EligibleLeaderReplicasVersion.ELRV_1

METADATA_CHANGES = frozenset({7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""Metadata versions that changed records: MetadataVersion.didMetadataChange."""

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3  # FeatureUpdate.UpgradeType


class FeatureUpdate(NamedTuple):
    """A new level of a feature; 0 disables it. ``upgrade_type`` is 1 for an upgrade, 2 or 3 for a downgrade."""

    name: str
    level: int
    upgrade_type: int


def finalized_levels(cluster: Cluster) -> dict[str, int]:
    """The finalized levels above 0, ordered by name; none in ZooKeeper mode."""
    if not cluster.support.is_kraft:
        return {}
    levels = cluster.image.features or initial_levels(cluster.release)
    return {name: level for name, level in sorted(levels.items()) if level}


def feature_level(cluster: Cluster, name: str) -> int:
    """The finalized level of a feature, 0 in ZooKeeper mode and for an unknown feature."""
    return finalized_levels(cluster).get(name, 0)


def update_features(cluster: Cluster, updates: Iterable[FeatureUpdate], *, validate_only: bool) -> None:
    """Finalize other levels: all or none.

    Raises ApiError: INVALID_UPDATE_VERSION with the reason for the first invalid update.
    """
    wanted = {update.name: update for update in updates}
    present = finalized_levels(cluster)
    proposed = present | {name: update.level for name, update in wanted.items()}
    for update in wanted.values():
        problem = problem_with(cluster, update, present, proposed)
        if problem:
            raise ApiError(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"no feature was changed, for {update.name} cannot be {update.level}: {problem}",
            )
    if validate_only or not wanted:
        return
    changed = proposed if not cluster.image.features else {name: update.level for name, update in wanted.items()}
    cluster.writer.commit(feature_records(changed))


def problem_with(
    cluster: Cluster, update: FeatureUpdate, present: dict[str, int], proposed: dict[str, int]
) -> str | None:
    """The reason why a level is invalid, in Kafka's order of checks; None if it is valid."""
    name, level, upgrade_type = update
    if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return f"expected upgrade type 1, 2 or 3, got {upgrade_type}"
    if level < 0:
        return "expected a level of at least 0"
    supported = supported_levels(cluster.release)
    if name not in supported:
        return "there is no such feature"
    lowest, highest = supported[name]
    if not lowest <= level <= highest:
        return f"expected a level from {lowest} to {highest}"
    before = present.get(name, 0)
    if level < before and upgrade_type == UPGRADE:
        return f"it is at {before}, expected an upgrade, got a lower level"
    if level > before and upgrade_type != UPGRADE:
        return f"it is at {before}, expected a downgrade, got a higher level"
    if name == METADATA_VERSION:
        if any(change > level for change in METADATA_CHANGES if change <= before):
            return f"records of {before} would be lost"
        return None
    if name == KRAFT_VERSION:
        return f"it is at {before} and never goes down" if level < before else None
    if name == ELR_VERSION and level and proposed.get(METADATA_VERSION, 0) < ELR_NEEDS_METADATA_VERSION:
        return f"it depends on {METADATA_VERSION} {ELR_NEEDS_METADATA_VERSION}"
    return None
