"""Broker settings under Kafka's names, with Kafka's defaults except where a test cluster needs others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafka_rack.diskless import PROFILE_SETTING, PROFILE_SETTINGS, PROFILES
from mockbroker.parts import merged, parts
from mockbroker.state.configs.definitions import definition, find_definition
from mockbroker.state.configs.values import ConfigType, parse

ASSIGNORS = "group.consumer.assignors"
RECORDS_LIMIT = "records.max.bytes"
DEFAULTS: dict[str, Any] = {
    **PROFILE_SETTINGS,
    "auto.create.topics.enable": True,
    "auto.leader.rebalance.enable": True,
    "broker.session.timeout.ms": 9000,
    "connection.first.byte.timeout.ms": 60000,  # ours: from the start of a connection to its first byte
    "connections.max.idle.ms": 600000,
    "default.replication.factor": 3,
    "diskless.enable": False,
    "diskless.profile": "kip-1163",  # ours: the system whose diskless topics brokers emulate
    "fetch.max.bytes": 57671680,
    "group.consumer.assignment.interval.ms": 0,
    "group.initial.rebalance.delay.ms": 0,
    "group.max.session.timeout.ms": 1800000,
    "group.max.size": 2147483647,
    "group.min.session.timeout.ms": 6000,
    "group.share.assignment.interval.ms": 0,
    "inter.broker.protocol.version": "",
    "leader.imbalance.check.interval.seconds": 0,
    "max.connections": 2147483647,
    "max.connections.per.ip": 2147483647,
    "max.decompressed.request.bytes": 33554432,  # ours: decompressed size of one request's records
    "max.incremental.fetch.session.cache.slots": 1000,
    "max.request.items": 20000,  # ours: elements in all arrays of one request
    "num.partitions": 1,
    "offset.metadata.max.bytes": 4096,
    "offsets.retention.check.interval.ms": 600000,
    "offsets.retention.minutes": 10080,
    "offsets.topic.num.partitions": 50,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.segment.bytes": 104857600,
    "producer.id.expiration.ms": 86400000,
    "records.max.bytes": -1,  # ours: maximum size of all logs
    "replica.lag.time.max.ms": 30000,
    "replica.placement.failed.code": 10660,  # KIP-660 has no number for its error
    "replica.selector.class": "",  # as in Kafka: the leader serves readers
    "request.read.timeout.ms": 300000,  # ours: from a request's first byte to its last
    "socket.request.max.bytes": 104857600,
    "socket.send.buffer.bytes": 102400,
    "transactional.id.expiration.ms": 604800000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 10000,
    "transaction.max.timeout.ms": 900000,
    "transaction.partition.verification.enable": True,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 3600000,
    "transaction.state.log.min.isr": 2,
    "transaction.state.log.num.partitions": 50,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.segment.bytes": 104857600,
    "transaction.two.phase.commit.enable": False,
    "unstable.api.versions.enable": False,
} | merged("settings")
"""Settings that are read without Kafka's definitions, which take some ms to load; all others have an effect through the
definitions, such as topic defaults, or none."""
LOWEST_OF_OURS = {
    "connection.first.byte.timeout.ms": 1,
    "max.decompressed.request.bytes": 0,
    "max.request.items": 1,
    "records.max.bytes": -1,
    "request.read.timeout.ms": 1,
}
"""The lowest values of settings that Kafka does not have; others are in Kafka's definitions."""
DIFFERENT_DEFAULTS = {
    "leader.imbalance.check.interval.seconds": "preferred leaders lead again at once, so that all is as before",
    "default.replication.factor": "a topic spreads over racks, as wide as there are brokers",
    "group.consumer.assignment.interval.ms": "groups of a test are assigned at once",
    "group.initial.rebalance.delay.ms": "groups of a test are complete sooner",
    "group.share.assignment.interval.ms": "groups of a test are assigned at once",
}
"""The settings whose default differs from Kafka's, with the reason."""
PROTOCOL_SETTING = "inter.broker.protocol.version"
SETTINGS_OF_MODES = (PROTOCOL_SETTING, *(name for part in parts() if part.metadata_support for name in part.settings))
EMULATED_DEFAULTS = {"leader.imbalance.check.interval.seconds": 300}
"""Kafka's defaults that apply only to a cluster that emulates one release (``--emulate``)."""
LIMIT_OF_LISTENERS = ".max.connections"


class KafkaSettings(dict[str, Any]):
    """Settings by name; a name that is not set has its default.

    Values set as text are parsed to the type of the default. ``without_effect`` has the names of settings of Kafka that
    are set but have no effect here, sorted. Other settings, for a user's placer, are stored unchanged.

    Raises: ValueError: a value of the wrong type, or UnknownSettingError, an unknown name.

    >>> KafkaSettings({"num.partitions": "6"})["num.partitions"]
    6
    >>> KafkaSettings({"background.threads": "4"}).without_effect
    ('background.threads',)
    """

    __slots__ = ("given_names", "without_effect")

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        given = given or {}
        super().__init__(DEFAULTS)
        self.given_names = frozenset(given)
        self.without_effect: tuple[str, ...] = ()
        strange = [name for name in given if name not in DEFAULTS]
        if strange:
            from mockbroker.state.configs.effects import OF_NUMBERED, is_of_a_listener, with_effect
            from mockbroker.state.setting_names import names_without_effect

            kafkas = names_without_effect(strange, DEFAULTS, given)
            effective = with_effect("broker") | OF_NUMBERED
            self.without_effect = tuple(name for name in kafkas if name not in effective and not is_of_a_listener(name))
        for name, value in given.items():
            self[name] = in_range(name, typed(name, value))
        if ASSIGNORS in given:
            check_assignors(self[ASSIGNORS])

    def emulating(self) -> KafkaSettings:
        """The settings of a cluster that emulates a release.

        >>> KafkaSettings().emulating()["leader.imbalance.check.interval.seconds"]
        300
        """
        own = KafkaSettings()
        own.given_names, own.without_effect = self.given_names, self.without_effect
        own.update(self.items())
        own.update({name: value for name, value in EMULATED_DEFAULTS.items() if name not in self.given_names})
        return own

    def __missing__(self, name: str) -> Any:
        return definition("broker", name).default

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except KeyError:
            return False
        return True

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(super().__iter__()))

    @property
    def names_release(self) -> bool:
        """True if a setting determines Kafka's version."""
        return any(self.given(name) for name in SETTINGS_OF_MODES)

    def given(self, name: str) -> bool:
        """True if the value differs from the default."""
        if name not in self.given_names or name in DEFAULTS:
            return name in self.given_names and bool(self[name] != DEFAULTS[name])
        found = find_definition("broker", name)
        return found is None or bool(self[name] != found.default)


def in_range(name: str, value: Any) -> Any:
    """The value of a setting, if it is in range.

    Kafka's ranges apply, except lowest values above 1: tests need small segments and short times.

    Raises: ValueError: a number out of its range, or a value of another type where an integer is expected.

    >>> in_range("num.partitions", 3)
    3
    >>> in_range("num.partitions", 0)
    Traceback (most recent call last):
        ...
    ValueError: num.partitions: expected at least 1, got 0
    """
    if type(DEFAULTS.get(name)) is int and type(value) is not int:
        raise ValueError(f"{name}: expected a whole number, got {value!r}")
    if type(value) is not int:
        return value
    lowest, highest = LOWEST_OF_OURS.get(name), None
    if lowest is None:
        found = find_definition("broker", name)
        if found is None or found.validator is None or found.validator["is"] != "Range":
            return value
        lowest, highest = found.validator["min"], found.validator["max"]
    if lowest is not None and value < min(lowest, 1):
        raise ValueError(f"{name}: expected at least {min(lowest, 1)}, got {value}")
    if highest is not None and value > highest:
        raise ValueError(f"{name}: expected at most {highest}, got {value}")
    return value


def check_assignors(names: Iterable[str]) -> None:
    """Raises ValueError for unknown assignors; a user's class is checked by the group that requests it."""
    from kafka_rack.assignment import SERVER_ASSIGNORS

    for name in names:
        if "." not in name and name not in SERVER_ASSIGNORS:
            raise ValueError(f"{ASSIGNORS}: expected one of {', '.join(SERVER_ASSIGNORS)}, got {name!r}")


def inter_broker_listener(settings: Mapping[str, Any], given: frozenset[str]) -> str:
    """The name of the listener between brokers, in upper case.

    >>> inter_broker_listener({"security.inter.broker.protocol": "SSL"}, frozenset({"security.inter.broker.protocol"}))
    'SSL'
    """
    for name in ("inter.broker.listener.name", "security.inter.broker.protocol"):
        if name in given and settings[name]:
            return str(settings[name]).upper()
    return "PLAINTEXT"


def typed(name: str, value: Any) -> Any:
    """A value parsed from text to the type of the setting's default.

    Raises: ValueError: invalid text; the message has the setting, the value and the expected one.
    """
    if name == PROFILE_SETTING and value not in PROFILES:
        raise ValueError(f"{name}: expected one of {', '.join(PROFILES)}, got {value!r}")
    default = DEFAULTS.get(name)
    if not isinstance(value, str) or isinstance(default, str):
        return value
    if default is None:
        found = find_definition("broker", name)
        if found is not None:
            return found.parse(value, in_range=False)
        if not (name.endswith(LIMIT_OF_LISTENERS) and name.startswith("listener.name.")):
            return value
    return parse(name, value, ConfigType.BOOLEAN if isinstance(default, bool) else ConfigType.LONG)
