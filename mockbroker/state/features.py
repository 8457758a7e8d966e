"""The features of a cluster that brokers agree on: the levels that are supported, and those that it goes by.

A cluster that was never told otherwise goes by the levels that a new one of its release has. With the first change all
of them are written to the image, as Kafka's controller writes them when it first starts.

Source: KIP-584, KIP-778, KIP-1022; FeatureControlManager, QuorumFeatures, Feature, MetadataVersion, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.kraft_releases import NEWEST, initial_feature_levels, supported_feature_levels
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELR_VERSION = "eligible.leader.replicas.version"

Levels = dict[str, tuple[int, int]]
ELR_NEEDS_METADATA_VERSION = 23  # 4.0-IV1; EligibleLeaderReplicasVersion.ELRV_1

METADATA_CHANGES = frozenset({7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""Metadata versions that brought something new into records: MetadataVersion.didMetadataChange."""

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3  # FeatureUpdate.UpgradeType


class FeatureUpdate(NamedTuple):
    """A level to go by from now on; 0 ends the feature. ``upgrade_type`` is 1 to go up, 2 or 3 to go down."""

    name: str
    level: int
    upgrade_type: int


def supported_levels(release: str | None = None) -> Levels:
    """The levels that brokers of a release support, by name; the newest release's where none is named."""
    return supported_feature_levels(release or NEWEST)


def initial_levels(release: str | None = None) -> dict[str, int]:
    """The levels of a new cluster of a release, 0 among them. Its voters are set by ``controller.quorum.voters``."""
    return initial_feature_levels(release or NEWEST)


def feature_level(cluster: Cluster, name: str) -> int:
    """The level of a feature that the whole cluster goes by, 0 in ZooKeeper mode and for one that is not known."""
    if not cluster.support.is_kraft:
        return 0
    features = cluster.image.features
    if features:
        return features.get(name, 0)
    return initial_levels(cluster.release).get(name, 0)


def finalized_levels(cluster: Cluster) -> dict[str, int]:
    """The levels that the whole cluster goes by, but for 0, by name in order."""
    levels = cluster.image.features or initial_levels(cluster.release)
    return {name: level for name, level in sorted(levels.items()) if level}


def update_features(cluster: Cluster, updates: Iterable[FeatureUpdate], *, validate_only: bool) -> None:
    """Go by other levels: by all of them or by none.

    Raises ApiError: INVALID_UPDATE_VERSION with what is wrong about the first that cannot be.
    """
    wanted = {update.name: update for update in updates}
    present = dict(cluster.image.features or initial_levels(cluster.release))
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
    from protocol.embedded.metadata_settings import FeatureLevelRecord

    changed = proposed if not cluster.image.features else {name: update.level for name, update in wanted.items()}
    cluster.writer.commit(
        [FeatureLevelRecord(name=name, feature_level=level) for name, level in sorted(changed.items())]
    )
    cluster.changed()


def problem_with(
    cluster: Cluster, update: FeatureUpdate, present: dict[str, int], proposed: dict[str, int]
) -> str | None:
    """What stands against a level, in the order in which Kafka looks; None if nothing does."""
    name, level, upgrade_type = update
    if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return f"expected upgrade type 1, 2 or 3, got {upgrade_type}"
    if level < 0:
        return "expected a level of at least 0"
    lowest, highest = supported_levels(cluster.release).get(name, (0, 0))
    if not lowest <= level <= highest:
        return f"expected a level from {lowest} to {highest}" if highest else "there is no such feature"
    before = present.get(name, 0)
    if level < before and upgrade_type == UPGRADE:
        return f"it is at {before}, and a downgrade was not asked for"
    if level > before and upgrade_type != UPGRADE:
        return f"it is at {before}, and a downgrade was asked for"
    if name == METADATA_VERSION:
        if any(change > level for change in METADATA_CHANGES if change <= before):
            return f"records of {before} would be lost"
        return None
    if name == KRAFT_VERSION:
        return f"it is at {before} and never goes down" if level < before else None
    if name not in supported_levels(cluster.release):
        return "there is no such feature"
    if name == ELR_VERSION and level and proposed.get(METADATA_VERSION, 0) < ELR_NEEDS_METADATA_VERSION:
        return f"it depends on {METADATA_VERSION} {ELR_NEEDS_METADATA_VERSION}"
    return None
