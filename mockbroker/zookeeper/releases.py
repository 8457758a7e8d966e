"""The versions of APIs, UpdateMetadata and registrations of each Kafka release with ZooKeeper mode.

Two settings vary in a rolling upgrade: the release is the code that a broker runs;
``inter.broker.protocol.version`` limits its features while other brokers still run older code. Clients see the
release; other brokers and ZooKeeper see the protocol.

A cluster is in ZooKeeper mode if its protocol or its release is below 3.0, or if ``zookeeper.connect`` is set, which
brokers of 0.8.2 to 3.9 accept; otherwise it is KRaft. Kafka 2.8 has both modes: it is in KRaft mode if
``process.roles`` is set.

>>> software = software_of(release="0.10.0", protocol="0.9.0")
>>> (software.registration_version, software.update_metadata_version, software.served[3])
(2, 1, (0, 1))

Sources: ``ApiVersion`` and ``ControllerChannelManager`` of Kafka 0.9 to 2.7, ``MetadataVersion`` of Apache Kafka 3.9,
``ZkUtils.registerBrokerInZk``, ``BrokerIdZNode``; the ApiVersions answers of each release.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mockbroker.state.releases import (
    DISKLESS,
    FIRST_WITH_KRAFT,
    KRAFT_ONLY,
    RELEASES,
    ZOOKEEPER_RELEASES,
    Version,
    versions_of_release,
)
from mockbroker.state.settings import PROTOCOL_SETTING

ZOOKEEPER_SETTING = "zookeeper.connect"
RELEASE = "release"
ROLES_SETTING = "process.roles"
UPDATE_METADATA = 6
STRICT_READER = "0.9.0.0"
"""The release that refuses broker registrations above version 2 (KAFKA-3100)."""


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
        return versions_of_release(self.release.text, kraft=False)

    @cached_property
    def reads_strictly(self) -> bool:
        """True if it refuses broker registrations above version 2."""
        return self.release == Version(STRICT_READER)

    def since(self, release: str) -> bool:
        """True if its code is of this release line or a later one."""
        return Version(self.release.line) >= Version(release)


def is_zookeeper(protocol: str | None, release: str | None, zookeeper: str | None, roles: str | None = None) -> bool:
    """True if a broker with these settings is in ZooKeeper mode.

    Args:
        protocol, release, zookeeper, roles: ``inter.broker.protocol.version``, the emulated release,
            ``zookeeper.connect`` and ``process.roles``; None or empty if not set.

    Raises ValueError: an unknown version, or settings that contradict each other.
    """
    check_known(protocol, release)
    given = [Version(text) for text in (protocol, release) if text and text != DISKLESS]
    kraft_only = [str(one) for one in given if one.line in KRAFT_ONLY] + [DISKLESS] * (release == DISKLESS)
    if zookeeper and kraft_only:
        raise ValueError(
            f"{ZOOKEEPER_SETTING}={zookeeper}: Kafka {kraft_only[0]} has no ZooKeeper mode; 3.9 is the last"
        )
    if roles and not zookeeper and not protocol and release and Version(release).line == FIRST_WITH_KRAFT:
        return False
    return bool(zookeeper) or any(one < Version("3.0-IV0") for one in given)


def check_known(protocol: str | None, release: str | None) -> None:
    """Raises ValueError unless both texts are known versions of Kafka, or empty."""
    for what, text in ((PROTOCOL_SETTING, protocol), (RELEASE, None if release == DISKLESS else release)):
        try:
            line = Version(text).line if text else ZOOKEEPER_RELEASES[-1]
        except ValueError as error:
            raise ValueError(f"{what}={text}: {error}") from None
        if line not in RELEASES:
            raise ValueError(f"{what}={text}: 0.8.2 to 4.4 are known: {', '.join(RELEASES)}")


def software_of(release: str | None, protocol: str | None) -> BrokerSoftware:
    """Release and protocol of a broker in ZooKeeper mode; each defaults to a value that follows from the other.

    The default protocol of a release is its newest, and a release does not know a newer one.

    Raises ValueError: an unknown version, or a protocol that is newer than the release.

    >>> software_of(release=None, protocol="0.9.0").release
    Version('0.9.0')
    """
    check_known(protocol, release)
    code = Version(release or (Version(protocol).line if protocol else ZOOKEEPER_RELEASES[-1]))
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
