"""The APIs, versions and features of each Kafka release since 2.8 in KRaft mode.

The tables are from the releases' own classes, without unstable versions; they are independent of the handlers here.
``diskless`` is 4.4 with two proposals that are in no release.

>>> kraft_versions("3.9")[1], kraft_versions("4.0.1")[1], kraft_versions("diskless")[3]
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

DESCRIBE_QUORUM = 55

# fmt: off
# Lowest and highest version by API key, of the APIs that change with a release.
CHANGES: dict[str, dict[int, tuple[int, int]]] = {
    "2.8": {
        0: (0, 9), 1: (0, 12), 2: (0, 6), 3: (0, 11), 8: (0, 8), 9: (0, 7), 10: (0, 3), 11: (0, 7), 12: (0, 4),
        13: (0, 4), 14: (0, 5), 15: (0, 5), 16: (0, 4), 17: (0, 1), 18: (0, 3), 19: (0, 7), 20: (0, 6), 21: (0, 2),
        23: (0, 4), 27: (0, 1), 32: (0, 4), 34: (0, 2), 35: (0, 2), 36: (0, 2), 42: (0, 2), 44: (0, 1), 47: (0, 0),
        49: (0, 1), 55: (0, 0), 60: (0, 0), 61: (0, 0),
    },
    "3.0": {
        2: (0, 7), 9: (0, 8), 10: (0, 4), 22: (0, 4), 24: (0, 3), 25: (0, 3), 26: (0, 3), 28: (0, 3), 29: (0, 2),
        30: (0, 2), 31: (0, 2), 33: (0, 2), 37: (0, 3), 43: (0, 2), 45: (0, 0), 46: (0, 0), 48: (0, 1), 57: (0, 0),
        65: (0, 0), 66: (0, 0),
    },
    "3.1": {1: (0, 13), 3: (0, 12)},
    "3.2": {11: (0, 9), 13: (0, 5), 35: (0, 3)},
    "3.3": {29: (0, 3), 30: (0, 3), 31: (0, 3), 35: (0, 4), 55: (0, 1), 57: (0, 1), 64: (0, 0)},
    "3.4": {},
    "3.5": {1: (0, 15), 2: (0, 8), 50: (0, 0), 51: (0, 0)},
    "3.6": {24: (0, 4), 38: (0, 3), 39: (0, 2), 40: (0, 2), 41: (0, 3)},
    "3.7": {0: (0, 10), 1: (0, 16), 8: (0, 9), 9: (0, 9), 60: (0, 1), 68: (0, 0), 71: (0, 0), 72: (0, 0), 74: (0, 0)},
    "3.8": {
        0: (0, 11), 10: (0, 5), 16: (0, 5), 22: (0, 5), 24: (0, 5), 25: (0, 4), 26: (0, 4), 28: (0, 4), 66: (0, 1),
        69: (0, 0), 75: (0, 0),
    },
    "3.9": {1: (0, 17), 2: (0, 9), 10: (0, 6), 18: (0, 4), 55: (0, 2), 80: (0, 0), 81: (0, 0)},
    # Versions from before 2.1 are removed (KIP-896).
    "4.0": {
        0: (3, 12), 1: (4, 17), 2: (1, 10), 3: (0, 13), 8: (2, 9), 9: (1, 9), 15: (0, 6), 19: (2, 7), 20: (1, 6),
        23: (2, 4), 26: (0, 5), 27: (1, 1), 28: (0, 5), 29: (1, 3), 30: (1, 3), 31: (1, 3), 32: (1, 4), 34: (1, 2),
        35: (1, 4), 38: (1, 3), 39: (1, 2), 40: (1, 2), 41: (1, 3), 57: (0, 2), 60: (0, 2), 68: (0, 1), 69: (0, 1),
    },
    "4.1": {
        0: (3, 13), 1: (4, 18), 45: (0, 1), 66: (0, 2), 74: (0, 1), 76: (1, 1), 77: (1, 1), 78: (1, 1), 79: (1, 1),
        83: (0, 0), 84: (0, 0), 85: (0, 0), 86: (0, 0), 87: (0, 0), 90: (0, 0), 91: (0, 0), 92: (0, 0),
    },
    "4.2": {
        2: (1, 11), 8: (2, 10), 9: (1, 10), 27: (1, 2), 78: (1, 2), 79: (1, 2), 80: (0, 1), 85: (0, 1), 87: (0, 1),
        88: (0, 0), 89: (0, 0), 90: (0, 1),
    },
    "4.3": {35: (1, 5)},
    "4.4": {18: (0, 5), 28: (0, 6), 42: (0, 3), 88: (0, 1), 89: (0, 1), 93: (0, 0), 94: (0, 0)},
}
# fmt: on
KRAFT_RELEASES = tuple(CHANGES)
KRAFT_ONLY = ("4.0", "4.1", "4.2", "4.3", "4.4")
NEWEST = KRAFT_RELEASES[-1]
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

MAX_LEVELS: dict[str, tuple[tuple[str, int], ...]] = {
    "kraft.version": (("3.9", 1),),
    "transaction.version": (("4.0", 2),),
    "group.version": (("4.0", 1),),
    "eligible.leader.replicas.version": (("4.0", 1),),
    "share.version": (("4.1", 1), ("4.4", 2)),
    "streams.version": (("4.2", 1),),
}
"""Feature -> (release, the highest supported level from it on); the lowest level is 0."""
INITIAL_LEVELS: dict[str, tuple[tuple[str, int], ...]] = {
    "transaction.version": (("4.0", 2),),
    "group.version": (("4.0", 1),),
    "eligible.leader.replicas.version": (("4.1", 1),),
    "share.version": (("4.2", 1), ("4.4", 2)),
    "streams.version": (("4.2", 1),),
}
"""The same for the levels of a new cluster; other features are at 0."""


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
def kraft_versions(release: str, *, unstable: bool = False) -> dict[int, tuple[int, int]]:
    """API key -> lowest and highest version that brokers of a release serve in KRaft mode, ordered by key.

    Args:
        unstable: include unstable versions, which are known for the newest release only.
    """
    line = kraft_line(release)
    found: dict[int, tuple[int, int]] = {}
    for one in KRAFT_RELEASES[: KRAFT_RELEASES.index(line) + 1]:
        if one == "3.0":
            del found[DESCRIBE_QUORUM]  # until 3.3
        found |= CHANGES[one]
    if release == DISKLESS:
        found |= DISKLESS_VERSIONS
    if unstable and line == NEWEST:
        found |= UNSTABLE_VERSIONS
    return dict(sorted(found.items()))


def newest_versions() -> dict[int, tuple[int, int]]:
    """API key -> the lowest version that any release serves in KRaft mode, and the highest, ordered by key."""
    lowest: dict[int, int] = {}
    for changes in CHANGES.values():
        for api_key, (oldest, _) in changes.items():
            lowest[api_key] = min(oldest, lowest.get(api_key, oldest))
    return {api_key: (lowest[api_key], newest) for api_key, (_, newest) in kraft_versions(DISKLESS).items()}


@cache
def supported_levels(release: str | None = None) -> dict[str, tuple[int, int]]:
    """Lowest and highest level of each feature that brokers of a release, by default the newest, support, by name."""
    line = kraft_line(release or NEWEST)
    found = {
        name: (0, level) for name, changes in MAX_LEVELS.items() if (level := _level_at(changes, line)) is not None
    }
    if line in METADATA_LEVELS:
        lowest = next(level for since, level in MIN_METADATA_LEVELS if is_since(line, since))
        found["metadata.version"] = (lowest, METADATA_LEVELS[line])
    return dict(sorted(found.items()))


@cache
def initial_levels(release: str | None = None) -> dict[str, int]:
    """The levels of a new cluster of a release, by default the newest, including 0, by name.

    Its voters are static, in ``controller.quorum.voters``.
    """
    line = kraft_line(release or NEWEST)
    levels = {name: _level_at(INITIAL_LEVELS.get(name, ()), line) or 0 for name in supported_levels(release)}
    return levels | ({"metadata.version": METADATA_LEVELS[line]} if line in METADATA_LEVELS else {})


def _level_at(changes: tuple[tuple[str, int], ...], line: str) -> int | None:
    levels = [level for since, level in changes if is_since(line, since)]
    return levels[-1] if levels else None
