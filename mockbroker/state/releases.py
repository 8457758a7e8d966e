"""The APIs, versions and features of each Kafka release since 0.8.2, in ZooKeeper and in KRaft mode.

The tables are from the releases' own classes, without unstable versions; they are independent of the handlers here.
``diskless`` is 4.4 with two proposals that are in no release.

>>> versions_of_release("3.9")[1], versions_of_release("4.0.1")[1], versions_of_release("diskless")[3]
((0, 17), (4, 17), (0, 14))

Sources: ApiKeys and ApiMessageType of kafka-clients 2.8.2 to 4.4.0, for brokers; MetadataVersion and Feature of
kafka-server-common 3.3.2 to 4.4.0; answers of one broker in KRaft mode of each of 2.8.2, 3.0.2, 3.1.2, 3.2.3, 3.3.2,
3.7.2, 3.9.1, 4.0.1, 4.1.0, 4.2.0, 4.3.0 and 4.4.0. Before 3.3 the classes have more than brokers served.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

LATEST = 1_000_000  # of the internal versions (IV) of a protocol, and of the patches of a release
VERSION = re.compile(r"(0(?:\.\d+){2}|[1-9]\d*\.\d+)(?:(?:\.(\d{1,9}|[xX]))|(?:-IV(\d{1,9})))?")
DISKLESS = "diskless"
"""Not a release: the newest one with the proposals for diskless topics."""
DISKLESS_VERSIONS = {3: (0, 14), 75: (0, 1)}
"""Metadata and DescribeTopicPartitions with the client's rack, as in the diskless proposal."""

DESCRIBE_QUORUM = 55  # in 2.8, and again since 3.3

# fmt: off
# The highest version of each API that a release added or changed. From ApiKeys of kafka-clients 0.10.0.1 to 4.4.0.
CHANGES: dict[str, dict[int, int]] = {
    "0.8.2": {0: 0, 1: 0, 2: 0, 3: 0, 6: 0, 8: 1, 9: 1, 10: 0},
    "0.9.0": {0: 1, 1: 1, 6: 1, 8: 2, 11: 0, 12: 0, 13: 0, 14: 0, 15: 0, 16: 0},
    "0.10.0": {0: 2, 1: 2, 3: 1, 6: 2, 18: 0},
    "0.10.1": {1: 3, 2: 1, 3: 2, 11: 1, 19: 0, 20: 0},
    "0.10.2": {6: 3, 9: 2, 19: 1},
    "0.11.0": {
        0: 3, 1: 5, 2: 2, 3: 4, 8: 3, 9: 3, 10: 1, 11: 2, 12: 1, 13: 1, 14: 1, 15: 1, 16: 1, 18: 1, 19: 2, 20: 1, 21: 0,
        22: 0, 23: 0, 24: 0, 25: 0, 26: 0, 27: 0, 28: 0, 29: 0, 30: 0, 31: 0, 32: 0, 33: 0,
    },
    "1.0": {0: 5, 1: 6, 3: 5, 6: 4, 34: 0, 35: 0, 37: 0},
    "1.1": {1: 7, 32: 1, 38: 0, 39: 0, 40: 0, 41: 0, 42: 0},
    "2.0": {
        0: 6, 1: 8, 2: 3, 3: 6, 8: 4, 9: 4, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2, 15: 2, 16: 2, 18: 2, 19: 3, 20: 2, 21: 1,
        22: 1, 23: 1, 24: 1, 25: 1, 26: 1, 28: 1, 29: 1, 30: 1, 31: 1, 32: 2, 33: 1, 34: 1, 35: 1, 37: 1, 38: 1, 39: 1,
        40: 1, 41: 1, 42: 1,
    },
    "2.1": {0: 7, 1: 10, 2: 4, 3: 7, 8: 6, 9: 5, 20: 3, 23: 2, 28: 2},
    "2.2": {2: 5, 6: 5, 11: 4, 43: 0},
    "2.3": {1: 11, 3: 8, 8: 7, 11: 5, 12: 3, 14: 3, 15: 3, 23: 3, 44: 0},
    "2.4": {
        0: 8, 3: 9, 6: 6, 8: 8, 9: 6, 10: 3, 11: 6, 12: 4, 13: 4, 14: 4, 15: 5, 16: 3, 18: 3, 19: 5, 20: 4, 22: 2,
        38: 2, 42: 2, 43: 2, 44: 1, 45: 0, 46: 0, 47: 0,
    },
    "2.5": {9: 7, 11: 7, 14: 5, 22: 3, 28: 3, 29: 2, 30: 2, 31: 2, 37: 2, 39: 2, 40: 2, 41: 2},
    "2.6": {16: 4, 21: 2, 32: 3, 35: 2, 48: 0, 49: 0},
    "2.7": {1: 12, 19: 6, 20: 5, 22: 4, 24: 2, 25: 2, 26: 2, 37: 3, 50: 0, 51: 0},
    "2.8": {
        0: 9, 2: 6, 3: 11, 6: 7, 17: 1, 19: 7, 20: 6, 23: 4, 24: 3, 25: 3, 26: 3, 27: 1, 32: 4, 33: 2, 34: 2, 36: 2,
        48: 1, 49: 1, 55: 0, 60: 0, 61: 0,
    },
    "3.0": {2: 7, 9: 8, 10: 4, 57: 0, 65: 0, 66: 0},
    "3.1": {1: 13, 3: 12},
    "3.2": {11: 9, 13: 5, 35: 3},
    "3.3": {29: 3, 30: 3, 31: 3, 35: 4, 38: 3, 41: 3, 55: 1, 57: 1, 64: 0},
    "3.4": {6: 8},
    "3.5": {1: 15, 2: 8},
    "3.6": {24: 4},
    "3.7": {0: 10, 1: 16, 8: 9, 9: 9, 60: 1, 68: 0, 71: 0, 72: 0, 74: 0},
    "3.8": {0: 11, 10: 5, 16: 5, 22: 5, 24: 5, 25: 4, 26: 4, 28: 4, 66: 1, 69: 0, 75: 0},
    "3.9": {1: 17, 2: 9, 10: 6, 18: 4, 55: 2, 80: 0, 81: 0},
    "4.0": {0: 12, 2: 10, 3: 13, 15: 6, 26: 5, 28: 5, 57: 2, 60: 2, 68: 1, 69: 1},
    "4.1": {
        0: 13, 1: 18, 45: 1, 66: 2, 74: 1, 76: 1, 77: 1, 78: 1, 79: 1, 83: 0, 84: 0, 85: 0, 86: 0, 87: 0, 90: 0, 91: 0,
        92: 0,
    },
    "4.2": {2: 11, 8: 10, 9: 10, 27: 2, 78: 2, 79: 2, 80: 1, 85: 1, 87: 1, 88: 0, 89: 0, 90: 1},
    "4.3": {35: 5},
    "4.4": {18: 5, 28: 6, 42: 3, 88: 1, 89: 1, 93: 0, 94: 0},
}
# The lowest versions since 4.0, which removed those from before 2.1 (KIP-896), and of APIs that began after 0.
LOWEST = {
    0: 3, 1: 4, 2: 1, 8: 2, 9: 1, 19: 2, 20: 1, 23: 2, 27: 1, 29: 1, 30: 1, 31: 1, 32: 1, 34: 1, 35: 1, 38: 1, 39: 1,
    40: 1, 41: 1, 76: 1, 77: 1, 78: 1, 79: 1,
}
# fmt: on
RELEASES = tuple(CHANGES)
NEWEST = RELEASES[-1]
FIRST_WITH_KRAFT, FIRST_WITHOUT_ZOOKEEPER = "2.8", "4.0"
KRAFT_RELEASES = RELEASES[RELEASES.index(FIRST_WITH_KRAFT) :]
ZOOKEEPER_RELEASES = RELEASES[: RELEASES.index(FIRST_WITHOUT_ZOOKEEPER)]
KRAFT_ONLY = RELEASES[len(ZOOKEEPER_RELEASES) :]
LATER_IN_KRAFT = {
    "3.0": frozenset({22, 24, 25, 26, 28, 29, 30, 31, 33, 37, 43, 45, 46, 48}),
    "3.3": frozenset({55}),  # 2.8 serves it as well
    "3.5": frozenset({50, 51}),
    "3.6": frozenset({38, 39, 40, 41}),
}
"""The first release that serves these APIs in KRaft mode; ZooKeeper mode had most of them before."""
ZOOKEEPER_ONLY = frozenset({6})
NOT_IN_ZOOKEEPER_MODE = frozenset({17, 36, 55, 57, 64, 71, 72, 74, 75, 80, 81})
"""APIs that the cluster does not have in ZooKeeper mode: logins, and those of KRaft alone."""
UNSTABLE_VERSIONS = {22: (0, 6)}
"""Versions that the newest brokers serve with ``unstable.api.versions.enable``: InitProducerId v6 (KIP-939)."""

METADATA_LEVELS = {
    "3.3": 7,
    "3.4": 8,
    "3.5": 11,
    "3.6": 14,
    "3.7": 19,
    "3.8": 20,
    "3.9": 21,
    "4.0": 25,
    "4.1": 27,
    "4.2": 29,
    "4.3": 30,
    "4.4": 33,
}
"""The newest ``metadata.version`` of each release that has the feature."""
MIN_METADATA_LEVELS = (("4.0", 7), ("3.3", 1))
"""The oldest level that a release can read, by the first release with that limit."""

LEVELS: dict[str, dict[str, tuple[int, int]]] = {
    "kraft.version": {"3.9": (1, 0)},
    "transaction.version": {"4.0": (2, 2)},
    "group.version": {"4.0": (1, 1)},
    "eligible.leader.replicas.version": {"4.0": (1, 0), "4.1": (1, 1)},
    "share.version": {"4.1": (1, 0), "4.2": (1, 1), "4.4": (2, 2)},
    "streams.version": {"4.2": (1, 1)},
    "metadata.version": {line: (level, level) for line, level in METADATA_LEVELS.items()},
}
"""Feature -> release -> the highest supported level from it on, and the level of a new cluster."""


@dataclass(frozen=True, order=True, repr=False)
class Version:
    """A release or a protocol, comparable: ``0.10.0``, ``0.9.0.1``, ``2.4-IV1``.

    ``line`` is the release line, ``0.10.0`` or ``2.4``. ``part`` is the patch or the internal version after it, by
    default the latest.
    """

    text: str = field(compare=False)
    line: str = field(init=False, compare=False)
    numbers: tuple[int, ...] = field(init=False)  # of the line
    part: int = field(init=False)

    def __post_init__(self) -> None:
        found = VERSION.fullmatch(self.text)
        if found is None:
            raise ValueError(f"expected a version of Kafka, as 0.9.0, 0.10.0-IV1 or 3.9, got {self.text!r}")
        part = found[2] or found[3]
        values = {
            "line": found[1],
            "numbers": tuple(map(int, found[1].split("."))),
            "part": LATEST if part is None or part in "xX" else int(part),
        }
        self.__dict__.update(values)

    def __repr__(self) -> str:
        return f"Version({self.text!r})"

    def __str__(self) -> str:
        return self.text


def kraft_line(release: str) -> str:
    """The release line of a release in KRaft mode: ``3.9`` for ``3.9.1``; for ``diskless`` the newest.

    Raises ValueError: no such release, or one without KRaft mode.
    """
    line = NEWEST if release == DISKLESS else Version(release).line
    if line not in KRAFT_RELEASES:
        raise ValueError(f"expected a release with KRaft mode, {KRAFT_RELEASES[0]} to {NEWEST}, got {release}")
    return line


def is_since(release: str | None, line: str) -> bool:
    """True if a release is of this line or a later one, or None.

    >>> is_since("3.9.1", "4.0"), is_since("4.10", "4.2"), is_since(None, "4.4")
    (False, True, True)
    """
    if release is None or release == DISKLESS:
        return True
    return Version(Version(release).line) >= Version(line)


@cache
def versions_of_release(release: str, *, kraft: bool = True, unstable: bool = False) -> dict[int, tuple[int, int]]:
    """API key -> lowest and highest version that brokers of a release serve, ordered by key.

    Args:
        kraft: in KRaft mode; False: in ZooKeeper mode, for the APIs that the cluster has in it.
        unstable: include unstable versions, which are known for the newest release only.

    >>> versions_of_release("0.9.0.1", kraft=False)[3]
    (0, 0)
    """
    line = kraft_line(release) if kraft else Version(release).line
    highest: dict[int, int] = {}
    for one in RELEASES[: RELEASES.index(line) + 1]:
        highest |= CHANGES[one]
    missing = NOT_IN_ZOOKEEPER_MODE
    if kraft:
        later = (keys for since, keys in LATER_IN_KRAFT.items() if not is_since(line, since))
        missing = ZOOKEEPER_ONLY.union(*later)
        if line == FIRST_WITH_KRAFT:
            missing -= {DESCRIBE_QUORUM}
    lowest = LOWEST if line in KRAFT_ONLY else {}
    found = {key: (lowest.get(key, 0), highest[key]) for key in sorted(highest) if key not in missing}
    if release == DISKLESS:
        found |= DISKLESS_VERSIONS
    if unstable and line == NEWEST:
        found |= UNSTABLE_VERSIONS
    return found


def newest_versions() -> dict[int, tuple[int, int]]:
    """API key -> the lowest version that any release serves in KRaft mode, and the highest, ordered by key."""
    lowest: dict[int, int] = {}
    for release in KRAFT_RELEASES:
        lowest = {key: oldest for key, (oldest, _) in versions_of_release(release).items()} | lowest
    return {key: (lowest[key], newest) for key, (_, newest) in versions_of_release(DISKLESS).items()}


@cache
def levels_of(release: str | None) -> dict[str, tuple[int, int]]:
    """The highest level and that of a new cluster of each feature that brokers of a release support, by name."""
    line = kraft_line(release or NEWEST)
    found = {}
    for name, changes in sorted(LEVELS.items()):
        levels = [two for since, two in changes.items() if is_since(line, since)]
        if levels:
            found[name] = levels[-1]
    return found


def supported_levels(release: str | None = None) -> dict[str, tuple[int, int]]:
    """Lowest and highest level of each feature that brokers of a release, by default the newest, support, by name."""
    line = kraft_line(release or NEWEST)
    lowest = {"metadata.version": next((level for since, level in MIN_METADATA_LEVELS if is_since(line, since)), 0)}
    return {name: (lowest.get(name, 0), highest) for name, (highest, _initial) in levels_of(release).items()}


def initial_levels(release: str | None = None) -> dict[str, int]:
    """The levels of a new cluster of a release, by default the newest, including 0, by name.

    Its voters are static, in ``controller.quorum.voters``.
    """
    return {name: initial for name, (_highest, initial) in levels_of(release).items()}
