"""The steps of an upgrade, in order: which broker restarts with which software. Nothing runs here.

Source: KIP-36, its section on compatibility; the upgrade notes of Kafka 0.10.0; KAFKA-3100.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mockbroker.state.releases import Version
from mockbroker.zookeeper.releases import STRICT_READER, BrokerSoftware, software_of

LENIENT_READER = "0.9.0.1"
BEFORE, LENIENT_CODE, NEW_CODE, NEW_SETTING, NEW_PROTOCOL = 0, 1, 2, 3, 4
TITLES = {
    BEFORE: "before the upgrade",
    LENIENT_CODE: f"brokers of {STRICT_READER} get {LENIENT_READER}",
    NEW_CODE: "new code, old protocol, one by one",
    NEW_SETTING: "the new protocol in every broker's file, nothing restarts",
    NEW_PROTOCOL: "restarts, one by one, for the new protocol to take effect",
}


class UpgradeStep(NamedTuple):
    """One thing that happens: a broker restarts with this software, or, without a broker, all are configured so."""

    step: int
    broker_id: int | None
    software: BrokerSoftware


class Upgrade(NamedTuple):
    """An upgrade of these brokers from one software to another, and its moves in order, from ``BEFORE`` on."""

    broker_ids: tuple[int, ...]
    old: BrokerSoftware
    new: BrokerSoftware
    moves: tuple[UpgradeStep, ...]


def upgrade_of(broker_ids: Iterable[int], old: str, new: str) -> Upgrade:
    """The moves from one release to another.

    Raises ValueError: no such release, one without ZooKeeper, or a way back.

    >>> [
    ...     (move.step, move.broker_id, move.software.protocol.text)
    ...     for move in upgrade_of([0], "0.9.0.1", "0.10.0.0").moves
    ... ]
    [(0, None, '0.9.0'), (2, 0, '0.9.0'), (3, None, '0.10.0'), (4, 0, '0.10.0')]
    """
    ids = tuple(broker_ids)
    before, after = software_for("--from", old), software_for("--to", new)
    if not before.release < after.release:
        raise ValueError(f"--from {old} --to {new}: an upgrade goes to a later release")
    moves = [UpgradeStep(BEFORE, None, before)]
    if before.reads_strictly and after.release > Version(LENIENT_READER):
        between = software_of(LENIENT_READER, None)
        moves += [UpgradeStep(LENIENT_CODE, broker_id, between) for broker_id in ids]
    held_back = software_of(new, before.protocol.text)
    moves += [UpgradeStep(NEW_CODE, broker_id, held_back) for broker_id in ids]
    if before.protocol != after.protocol:
        moves.append(UpgradeStep(NEW_SETTING, None, after))
        moves += [UpgradeStep(NEW_PROTOCOL, broker_id, after) for broker_id in ids]
    return Upgrade(ids, before, after, tuple(moves))


def software_for(option: str, release: str) -> BrokerSoftware:
    """A release with its own protocol. Raises ValueError, naming the option."""
    try:
        return software_of(release, None)
    except ValueError as error:
        raise ValueError(f"{option} {release}: {str(error).removeprefix(f'release={release}: ')}") from None
