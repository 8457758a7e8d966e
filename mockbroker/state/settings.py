"""Broker settings under Kafka's names, with Kafka's defaults except where a test cluster needs others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from kafka_rack.diskless import PROFILE_SETTINGS
from mockbroker.parts import merged, parts
from mockbroker.state.configs.definitions import (
    BROKER,
    OUR_NUMBERS,
    TOPIC,
    data_file,
    definition,
    find_definition,
    kafka_configs,
    names,
)
from mockbroker.state.configs.values import ConfigType, in_bounds, parse
from mockbroker.state.patterns import hint

ASSIGNORS = "group.consumer.assignors"
RECORDS_LIMIT = "records.max.bytes"
DIFFERENT_DEFAULTS = {
    "default.replication.factor": (3, "a topic spreads over racks, as wide as there are brokers"),
    "group.consumer.assignment.interval.ms": (0, "groups of a test are assigned at once"),
    "group.initial.rebalance.delay.ms": (0, "groups of a test are complete sooner"),
    "group.share.assignment.interval.ms": (0, "groups of a test are assigned at once"),
    "leader.imbalance.check.interval.seconds": (0, "preferred leaders lead again at once, so that all is as before"),
}
"""The settings whose default differs from Kafka's: our default, and the reason."""
DEFAULTS: dict[str, Any] = {
    **PROFILE_SETTINGS,
    **{name: default for name, (default, _reason) in DIFFERENT_DEFAULTS.items()},
    **{name: default for name, (default, _lowest) in OUR_NUMBERS.items()},
    "auto.create.topics.enable": True,
    "auto.leader.rebalance.enable": True,
    "broker.session.timeout.ms": 9000,
    "connections.max.idle.ms": 600000,
    "diskless.enable": False,
    "diskless.profile": "kip-1163",  # ours: the system whose diskless topics brokers emulate
    "fetch.max.bytes": 57671680,
    "group.max.session.timeout.ms": 1800000,
    "group.max.size": 2147483647,
    "group.min.session.timeout.ms": 6000,
    "inter.broker.protocol.version": "",
    "max.connections": 2147483647,
    "max.connections.per.ip": 2147483647,
    "max.connections.per.ip.overrides": "",
    "max.incremental.fetch.session.cache.slots": 1000,
    "num.partitions": 1,
    "offset.metadata.max.bytes": 4096,
    "offsets.retention.check.interval.ms": 600000,
    "offsets.retention.minutes": 10080,
    "offsets.topic.num.partitions": 50,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.segment.bytes": 104857600,
    "producer.id.expiration.ms": 86400000,
    "replica.lag.time.max.ms": 30000,
    "replica.selector.class": "",  # as in Kafka: the leader serves readers
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
PROTOCOL_SETTING = "inter.broker.protocol.version"
SETTINGS_OF_MODES = (PROTOCOL_SETTING, *(name for part in parts() if part.metadata_support for name in part.settings))
EMULATED_DEFAULTS = {"leader.imbalance.check.interval.seconds": 300}
"""Kafka's defaults that apply only to a cluster that emulates one release (``--emulate``)."""
TYPES = {bool: ConfigType.BOOLEAN, int: ConfigType.LONG}
PREFIXES = ("config.providers.", "listener.name.", "rlmm.config.", "rsm.config.")  # the user's own name follows
ALIKE = 0.9  # of difflib's ratio: above it, an unknown name is an error, as a misspelt one
LIMIT_OF_LISTENER = re.compile(r"listener\.name\..*\.max\.connections")


class KafkaSettings(dict[str, Any]):
    """Settings by name; a name that is not set has its default.

    Values set as text are parsed to the type of the default. ``without_effect`` has the names of settings of Kafka that
    are set but have no effect here, sorted. Other settings, for a user's placer, are stored unchanged. ``emulates``:
    the cluster emulates a release.

    Raises: ValueError: a value of the wrong type, or UnknownSettingError, an unknown name.

    >>> KafkaSettings({"num.partitions": "6"})["num.partitions"]
    6
    >>> KafkaSettings({"background.threads": "4"}).without_effect
    ('background.threads',)
    >>> KafkaSettings(emulates=True)["leader.imbalance.check.interval.seconds"]
    300
    """

    __slots__ = ("given_names", "without_effect")

    def __init__(self, given: Mapping[str, Any] | None = None, *, emulates: bool = False) -> None:
        given = given or {}
        super().__init__(DEFAULTS | EMULATED_DEFAULTS if emulates else DEFAULTS)
        self.given_names = frozenset(given)
        self.without_effect: tuple[str, ...] = ()
        strange = [name for name in given if name not in DEFAULTS]
        if strange:
            from mockbroker.state.configs.effects import OF_NUMBERED, is_of_a_listener, with_effect

            kafkas = names_without_effect(strange, DEFAULTS, given)
            effective = with_effect("broker") | OF_NUMBERED
            self.without_effect = tuple(name for name in kafkas if name not in effective and not is_of_a_listener(name))
        for name, value in given.items():
            self[name] = parsed(name, value)
        if ASSIGNORS in given:
            check_assignors(self[ASSIGNORS])

    def __missing__(self, name: str) -> Any:
        return definition(BROKER, name).default

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or find_definition(BROKER, str(name)) is not None

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 - this is ``get``

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(super().__iter__()))

    @property
    def names_release(self) -> bool:
        """True if a setting determines Kafka's version."""
        return any(self.given(name) for name in SETTINGS_OF_MODES)

    def given(self, name: str) -> bool:
        """True if the value differs from the default."""
        return name in self.given_names and bool(self[name] != KafkaSettings().get(name))


def parsed(name: str, value: Any) -> Any:
    """The value of a setting, as its definition has it, or one without a definition as the type of its default.

    Kafka's ranges apply, except lowest values above 1: tests need small segments and short times.

    Raises: ValueError: an invalid value; the message has the setting, the value and the expected one.

    >>> parsed("num.partitions", "3"), parsed("log.segment.bytes", 1)
    (3, 1)
    >>> parsed("num.partitions", 0)
    Traceback (most recent call last):
        ...
    mockbroker.state.configs.values.InvalidValueError: num.partitions: expected at least 1, got 0
    """
    found = find_definition(BROKER, name)
    if found is None:
        type_ = ConfigType.LONG if LIMIT_OF_LISTENER.fullmatch(name) else TYPES.get(type(DEFAULTS.get(name)))
        return value if type_ is None else parse(name, value, type_)
    value = found.parse(value, in_range=False)
    if value != found.default and found.validator is not None and found.validator["is"] == "Range":
        in_bounds(name, value, found.validator | {"min": min(1, found.validator["min"])})
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


class UnknownSettingError(ValueError):
    """A setting that is unknown here, in the placer and in Kafka."""


def names_without_effect(strange: Iterable[str], effective: Iterable[str], settings: Mapping[str, Any]) -> list[str]:
    """The names of Kafka's settings that have no effect here; a user's placer may have others.

    Args:
        strange: the names to check.
        effective: names with an effect, for any placer.
        settings: all settings.

    Raises: UnknownSettingError: an unknown name, with the nearest known one.

    >>> names_without_effect(["log.dirs"], ["num.partitions"], {"log.dirs": "/var/kafka"})
    ['log.dirs']
    """
    from kafka_rack.placement import CLASS_SETTING, PLACER_SETTINGS, is_built_in

    placer = str(settings.get(CLASS_SETTING, "")).strip()
    own_placer = bool(placer) and not is_built_in(placer)
    known, found = [*effective, *PLACER_SETTINGS, *kafka_settings()], []
    for name in sorted(set(strange).difference(PLACER_SETTINGS)):
        if name in kafka_settings() or name.startswith(PREFIXES):
            found.append(name)
        elif not own_placer or hint(name, known, ALIKE):
            raise UnknownSettingError(f"unknown setting {name}{hint(name, known)}")
    return found


@cache
def kafka_settings() -> frozenset[str]:
    """The names of Kafka's broker and topic settings, including those removed in 4.0."""
    removed = data_file("removed_settings.txt").decode("ascii").splitlines()
    there = (names(BROKER), kafka_configs()["broker_dynamic_only"], names(TOPIC))
    return frozenset().union(*there, (one for one in removed if not one.startswith("#")))
