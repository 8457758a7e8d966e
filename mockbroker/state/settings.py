"""Broker settings under Kafka's own names, with Kafka's defaults unless a test cluster is better off with another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

DEFAULTS: dict[str, Any] = {
    "auto.create.topics.enable": True,
    "broker.session.timeout.ms": 9000,
    "compression.type": "producer",
    "default.replication.factor": 3,  # Kafka: 1; here a topic spreads over racks, as wide as there are brokers
    "diskless.enable": False,
    "fetch.max.bytes": 57671680,
    "group.initial.rebalance.delay.ms": 0,  # Kafka: 3000
    "group.max.session.timeout.ms": 1800000,
    "group.max.size": 2147483647,
    "group.min.session.timeout.ms": 6000,
    "inter.broker.protocol.version": "",  # below 3.0 the cluster is in ZooKeeper mode; see releases.py
    "log.message.timestamp.type": "CreateTime",
    "log.retention.bytes": -1,
    "log.retention.ms": 604800000,
    "log.cleanup.policy": "delete",
    "log.segment.bytes": 1073741824,
    "max.incremental.fetch.session.cache.slots": 1000,
    "message.max.bytes": 1048588,
    "min.insync.replicas": 1,
    "num.partitions": 1,
    "offset.metadata.max.bytes": 4096,
    "offsets.retention.minutes": 10080,
    "producer.id.expiration.ms": 86400000,
    "replica.lag.time.max.ms": 30000,
    "replica.placement.failed.code": 10660,  # KIP-660 gave its error no number
    "replica.selector.class": "",  # as in Kafka: readers stay with the leader
    "socket.request.max.bytes": 104857600,
    "transactional.id.expiration.ms": 604800000,
    "transaction.max.timeout.ms": 900000,
    "unclean.leader.election.enable": False,
    "zookeeper.session.timeout.ms": 18000,
    "zookeeper.connect": "",  # anything here makes it ZooKeeper mode, up to 3.9; there is no other ZooKeeper than ours
}
NOT_READ = frozenset(
    {
        "compression.type",
        "log.retention.ms",
        "log.segment.bytes",
        "offsets.retention.minutes",
        "producer.id.expiration.ms",
        "transactional.id.expiration.ms",
    }
)
"""Settings that DescribeConfigs shows, as clients expect of a broker, and that change nothing here."""
TRUE_AND_FALSE = {"true": True, "false": False}


class Settings(Mapping[str, Any]):
    """Settings by name; a name that was never given has its default.

    Values given as text become the type of the default. ``without_effect`` has the names that were given, that Kafka
    has, and that change nothing here, sorted. What else a placer of the user's own understands is kept as it is.

    Raises: ValueError: a value of the wrong type, or UnknownSettingError, a name that nobody has.

    >>> Settings({"num.partitions": "6"})["num.partitions"]
    6
    >>> Settings({"log.dirs": "/var/kafka"}).without_effect
    ('log.dirs',)
    """

    __slots__ = ("_values", "without_effect")

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        given = given or {}
        self._values = dict(DEFAULTS)
        self.without_effect: tuple[str, ...] = ()
        strange = [name for name in given if name not in DEFAULTS or name in NOT_READ]
        if strange:
            from mockbroker.state.setting_names import names_without_effect

            self.without_effect = tuple(names_without_effect(strange, DEFAULTS, given))
        for name, value in given.items():
            self._values[name] = typed(name, value)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def given(self, name: str) -> bool:
        """Whether the value differs from the default."""
        return name not in DEFAULTS or bool(self._values[name] != DEFAULTS[name])


def typed(name: str, value: Any, defaults: Mapping[str, Any] = DEFAULTS) -> Any:
    """A value given as text, as the type of the setting's default.

    Raises: ValueError: the text is no such value; says which setting, what was given and what was expected.
    """
    default = defaults.get(name)
    if not isinstance(value, str) or default is None or isinstance(default, str):
        return value
    if isinstance(default, bool):
        if value.lower() not in TRUE_AND_FALSE:
            raise ValueError(f"{name}: expected true or false, got {value!r}")
        return TRUE_AND_FALSE[value.lower()]
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{name}: expected a whole number, got {value!r}") from None


def as_text(value: Any) -> str | None:
    """A value as Kafka writes it.

    >>> as_text(True), as_text(3), as_text(None)
    ('true', '3', None)
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
