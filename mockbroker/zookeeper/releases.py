"""The versions of APIs, UpdateMetadata and registrations of each Kafka release with ZooKeeper mode.

Two settings vary in a rolling upgrade: the release is the code that a broker runs;
``inter.broker.protocol.version`` limits its features while other brokers still run older code. Clients see the
release; other brokers and ZooKeeper see the protocol.

A cluster is in ZooKeeper mode if its protocol or its release is below 3.0, or if ``zookeeper.connect`` is set, which
brokers of 0.8.2 to 3.9 accept; otherwise it is KRaft (``kraft_releases``). Kafka 2.8 has both modes: it is in KRaft
mode if ``process.roles`` is set.

>>> software = software_of(release="0.10.0", protocol="0.9.0")
>>> (software.registration_version, software.update_metadata_version, software.served[3])
(2, 1, (0, 1))

Sources: ``ApiVersion`` and ``ControllerChannelManager`` of Kafka 0.9 to 2.7, ``MetadataVersion`` of Apache Kafka 3.9,
``ZkUtils.registerBrokerInZk``, ``BrokerIdZNode``; the ApiVersions answers of each release.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mockbroker.state.kraft_releases import DISKLESS, KRAFT_ONLY, Version
from mockbroker.state.settings import PROTOCOL_SETTING

ZOOKEEPER_SETTING = "zookeeper.connect"
RELEASE = "release"
ROLES_SETTING = "process.roles"
UPDATE_METADATA = 6
STRICT_READER = "0.9.0.0"
"""The release that refuses broker registrations above version 2 (KAFKA-3100)."""

# fmt: off
# The highest version of each API in ZooKeeper mode that the cluster has, by the release that introduced it; all start
# at 0. From ApiKeys of kafka-clients 0.10.0.1 to 3.9.1.
CHANGES: dict[str, dict[int, int]] = {
    "0.8.2": {0: 0, 1: 0, 2: 0, 3: 0, 6: 0, 8: 1, 9: 1, 10: 0},
    "0.9.0": {0: 1, 1: 1, 6: 1, 8: 2, 11: 0, 12: 0, 13: 0, 14: 0, 15: 0, 16: 0},
    "0.10.0": {0: 2, 1: 2, 3: 1, 6: 2, 18: 0},
    "0.10.1": {1: 3, 2: 1, 3: 2, 11: 1, 19: 0, 20: 0},
    "0.10.2": {6: 3, 9: 2, 19: 1},
    "0.11.0": {
        0: 3, 1: 5, 2: 2, 3: 4, 8: 3, 9: 3, 10: 1, 11: 2, 12: 1, 13: 1, 14: 1, 15: 1, 16: 1, 18: 1, 19: 2, 20: 1,
        21: 0, 22: 0, 23: 0, 24: 0, 25: 0, 26: 0, 27: 0, 28: 0, 29: 0, 30: 0, 31: 0, 32: 0, 33: 0,
    },
    "1.0": {0: 5, 1: 6, 3: 5, 6: 4, 34: 0, 35: 0, 37: 0},
    "1.1": {1: 7, 32: 1, 38: 0, 39: 0, 40: 0, 41: 0, 42: 0},
    "2.0": {
        0: 6, 1: 8, 2: 3, 3: 6, 8: 4, 9: 4, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2, 15: 2, 16: 2, 18: 2, 19: 3, 20: 2,
        21: 1, 22: 1, 23: 1, 24: 1, 25: 1, 26: 1, 28: 1, 29: 1, 30: 1, 31: 1, 32: 2, 33: 1, 34: 1, 35: 1, 37: 1, 38: 1,
        39: 1, 40: 1, 41: 1, 42: 1,
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
        0: 9, 2: 6, 3: 11, 6: 7, 19: 7, 20: 6, 23: 4, 24: 3, 25: 3, 26: 3, 27: 1, 32: 4, 33: 2, 34: 2, 48: 1, 49: 1,
        60: 0, 61: 0,
    },
    "3.0": {2: 7, 9: 8, 10: 4, 65: 0, 66: 0},
    "3.1": {1: 13, 3: 12},
    "3.2": {11: 9, 13: 5, 35: 3},
    "3.3": {29: 3, 30: 3, 31: 3, 35: 4, 38: 3, 41: 3},
    "3.4": {6: 8},
    "3.5": {1: 15, 2: 8},
    "3.6": {24: 4},
    "3.7": {0: 10, 1: 16, 8: 9, 9: 9, 60: 1, 68: 0},
    "3.8": {0: 11, 10: 5, 16: 5, 22: 5, 24: 5, 25: 4, 26: 4, 28: 4, 66: 1, 69: 0},
    "3.9": {1: 17, 2: 9, 10: 6, 18: 4},
}
# fmt: on
RELEASES = tuple(CHANGES)
FIRST_WITH_KRAFT = "2.8"

# Version of UpdateMetadata that a controller sends, by the first protocol that has it.
UPDATE_METADATA_SINCE = (
    ("3.4-IV0", 8),
    ("2.8-IV1", 7),
    ("2.4-IV1", 6),
    ("2.2-IV0", 5),
    ("1.0-IV0", 4),
    ("0.10.2-IV0", 3),
    ("0.10.0-IV1", 2),
    ("0.9.0", 1),
    ("0.8.2", 0),
)


@dataclass(frozen=True, repr=False)
class BrokerSoftware:
    """The code that a broker runs, and its inter-broker protocol."""

    release: Version
    protocol: Version

    def __repr__(self) -> str:
        return f"BrokerSoftware({self.release}, {PROTOCOL_SETTING}={self.protocol})"

    @cached_property
    def registration_version(self) -> int:
        """Version of its registration's JSON: 1, 2 with endpoints, 3 racks, 4 listener names, 5 features."""
        line = Version(self.release.line)
        if line < Version("0.9.0"):
            return 1
        if self.protocol < Version("0.10.0-IV1"):
            return 2
        if line < Version("0.10.2"):
            return 3
        return 5 if line >= Version("2.7") and self.protocol >= Version("2.7-IV0") else 4

    @cached_property
    def update_metadata_version(self) -> int:
        """The version of UpdateMetadata that it sends as the controller."""
        return next(version for since, version in UPDATE_METADATA_SINCE if self.protocol >= Version(since))

    @cached_property
    def served(self) -> dict[int, tuple[int, int]]:
        """API key -> lowest and highest version served."""
        return served_by(self.release)

    @cached_property
    def reads_strictly(self) -> bool:
        """True if it refuses broker registrations above version 2."""
        return self.release == Version(STRICT_READER)

    @cached_property
    def knows_racks(self) -> bool:
        """True if its code places replicas across racks (KIP-36)."""
        return self.release >= Version("0.10.0.0")

    def since(self, release: str) -> bool:
        """True if its code is of this release line or a later one."""
        return Version(self.release.line) >= Version(release)


def served_by(release: Version) -> dict[int, tuple[int, int]]:
    """API key -> lowest and highest version that a release served, for the APIs that the cluster has.

    >>> served_by(Version("0.9.0.1"))[3]
    (0, 0)
    """
    highest: dict[int, int] = {}
    last = RELEASES.index(release.line)
    for line in RELEASES[: last + 1]:
        highest |= CHANGES[line]
    return {api_key: (0, highest[api_key]) for api_key in sorted(highest)}


def is_zookeeper(protocol: str | None, release: str | None, zookeeper: str | None, roles: str | None = None) -> bool:
    """True if a broker with these settings is in ZooKeeper mode.

    Args:
        protocol, release, zookeeper, roles: ``inter.broker.protocol.version``, the emulated release,
            ``zookeeper.connect`` and ``process.roles``; None or empty if not set.

    Raises ValueError: an unknown version, or settings that contradict each other.
    """
    for what, text in ((PROTOCOL_SETTING, protocol), (RELEASE, release)):
        if text:
            check_known(what, text)
    given = [Version(text) for text in (protocol, release) if text and text != DISKLESS]
    kraft_only = [str(one) for one in given if one.line in KRAFT_ONLY] + [DISKLESS] * (release == DISKLESS)
    if zookeeper and kraft_only:
        raise ValueError(
            f"{ZOOKEEPER_SETTING}={zookeeper}: Kafka {kraft_only[0]} has no ZooKeeper mode; 3.9 is the last"
        )
    if roles and not zookeeper and not protocol and release and Version(release).line == FIRST_WITH_KRAFT:
        return False
    return bool(zookeeper) or any(one < Version("3.0-IV0") for one in given)


def check_known(what: str, text: str) -> None:
    """Raises ValueError unless the text is a known version of Kafka."""
    if what == RELEASE and text == DISKLESS:
        return
    known = [*RELEASES, *KRAFT_ONLY]
    try:
        line = Version(text).line
    except ValueError as error:
        raise ValueError(f"{what}={text}: {error}") from None
    if line not in known:
        raise ValueError(f"{what}={text}: 0.8.2 to 4.4 are known: {', '.join(known)}")


def software_of(release: str | None, protocol: str | None) -> BrokerSoftware:
    """Release and protocol of a broker in ZooKeeper mode; each defaults to a value that follows from the other.

    The default protocol of a release is its newest, and a release does not know a newer one.

    Raises ValueError: an unknown version, or a protocol that is newer than the release.

    >>> software_of(release=None, protocol="0.9.0").release
    Version('0.9.0')
    """
    for what, text in ((PROTOCOL_SETTING, protocol), (RELEASE, release)):
        if text:
            check_known(what, text)
    code = Version(release or (Version(protocol).line if protocol else RELEASES[-1]))
    spoken = Version(protocol or code.line)
    if "-IV" not in spoken.text:
        spoken = Version(spoken.line)  # 0.10.0.1 has the protocol of 0.10.0
    if spoken.line in KRAFT_ONLY or code.line in KRAFT_ONLY:
        raise ValueError(f"Kafka {max(spoken, code)} has no ZooKeeper mode; 3.9 is the last")
    if Version(spoken.line) > Version(code.line):
        raise ValueError(
            f"{PROTOCOL_SETTING}={spoken} is not known to Kafka {code}, whose newest is {code.line}; "
            "upgrade the broker first"
        )
    return BrokerSoftware(code, spoken)
