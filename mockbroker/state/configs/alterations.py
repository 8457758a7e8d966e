"""Config changes at run time: checks of the receiving broker, checks of the controller, and the written records.

Source: ConfigAdminManager.preprocess, ConfigurationControlManager, ControllerConfigurationValidator, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from kafka_rack.java import hash_order, string_hash
from mockbroker.state.configs.broker_rules import check_broker_configs
from mockbroker.state.configs.definitions import BROKER, CLIENT_METRICS, GROUP, TOPIC, find_definition
from mockbroker.state.configs.effective import ALL_BROKERS, MIN_INSYNC_REPLICAS, RESOURCE_TYPES, ClusterConfigs
from mockbroker.state.configs.loggers import LEVELS, ROOT
from mockbroker.state.configs.resource_rules import (
    check_client_metrics_configs,
    check_group_configs,
    check_named,
    check_topic_configs,
    invalid,
)
from mockbroker.state.configs.values import WHOLE_NUMBER, ConfigType, text_of
from mockbroker.state.errors import ApiError, invalid_request
from mockbroker.state.topics.topic import check_topic_name
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker

KINDS = {number: kind for kind, number in RESOURCE_TYPES.items()}
MAX_VALUE_CHARACTERS = 32767
MOST_ID_CHARACTERS = 1_000


class ConfigOperation(IntEnum):
    """The operation on a config, numbered as in IncrementalAlterConfigs (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


OPERATIONS = frozenset(ConfigOperation)
Change = tuple[str, int, str | None]
"""A config's name, the number of an operation, and its value."""
Resource = tuple[int, str]
"""The number of a resource's type, and its name."""
Planned = tuple[str, str, Mapping[str, str | None]]
"""The arguments of ``ClusterConfigs.write``."""


@dataclass(slots=True, frozen=True)
class ConfigAlterations:
    """Config changes that a client requests from one broker."""

    configs: ClusterConfigs
    broker: Broker
    validate_only: bool

    def checked(self, resource: Resource, changes: Sequence[Change], *, whole: bool) -> Callable[[], Planned] | None:
        """Check changes of a resource, or a full replacement of its configs, as the receiving broker does.

        ``check_changes`` has accepted them.

        Returns: the controller's checks of the change, None if the broker has done everything.

        Raises ApiError: INVALID_REQUEST, INVALID_CONFIG.
        """
        type_number, name = resource
        if type_number == LOGGERS and not whole:
            self._alter_loggers(name, changes)
            return None
        kind, new_of = kind_of(type_number), replaced if whole else changed
        if kind == BROKER:
            if name:
                check_broker_id(name, self.broker.id)
            for _, operation, _ in changes:
                if operation not in OPERATIONS:
                    raise invalid_request(f"expected an operation from 0 to 3, got {operation}")
            new = {**self.configs.own(BROKER, name), **new_of(self.configs, BROKER, name, changes)}
            wanted = {config: value for config, value in new.items() if value is not None}
            check_broker_configs(self.configs, self.broker.id if name else None, wanted)
        return lambda: self._planned(kind, name, new_of(self.configs, kind, name, changes))

    # the controller

    def _planned(self, kind: str, name: str, new: Mapping[str, str | None]) -> Planned:
        """Check changes as the controller does. Raises ApiError."""
        before = self.configs.own(kind, name)
        check_sizes_and_minimum(self.configs, kind, name, new)
        after = {config: value for config, value in {**before, **new}.items() if value is not None}
        if kind != BROKER:
            check_named(name)
        if kind == TOPIC:
            check_topic_name(name)
            check_topic_configs(self.configs, after)
            self.configs.cluster.find_topic(name)
        elif kind == GROUP:
            check_group_configs(self.configs, after)
        elif kind == CLIENT_METRICS:
            check_client_metrics_configs(self.configs, after)
        return kind, name, new

    # loggers, whose levels are the broker's own

    def _alter_loggers(self, name: str, changes: Sequence[Change]) -> None:
        check_broker_id(name, self.broker.id)
        loggers = self.broker.loggers
        for logger, operation, level in changes:
            if operation not in (ConfigOperation.SET, ConfigOperation.DELETE):
                raise invalid_request(f"expected to set or delete a level, got {operation}")
            if not loggers.exists(logger):
                raise invalid(f"there is no logger {logger}")
            if operation == ConfigOperation.SET and level not in LEVELS:
                raise invalid(f"{logger}: expected one of {', '.join(LEVELS)}, got {level!r}")
            if operation == ConfigOperation.DELETE and logger == ROOT:
                raise invalid_request(f"the logger {ROOT} always has a level")
        if not self.validate_only:
            for logger, operation, level in changes:
                loggers.set(logger, level if operation == ConfigOperation.SET else None)


LOGGERS = 8  # ConfigResource.Type


def check_changes(changes: Sequence[Change]) -> None:
    """Raises ApiError: INVALID_REQUEST for a repeated config, or one without a required value."""
    if len({name for name, *_ in changes}) != len(changes):
        raise invalid_request("expected each config once")
    nulls = [name for name, operation, value in changes if value is None and operation != ConfigOperation.DELETE]
    if nulls:
        raise invalid_request(f"expected a value for {', '.join(nulls)}, got null")


def check_broker_id(name: str, broker_id: int) -> None:
    """Raises ApiError: INVALID_REQUEST unless a resource's name is the id of the receiving broker."""
    if len(name) > MOST_ID_CHARACTERS or not WHOLE_NUMBER.fullmatch(name) or int(name) != broker_id:
        raise invalid_request(f"expected {broker_id}, the receiving broker, got {name!r}")


def changed(configs: ClusterConfigs, kind: str, name: str, changes: Sequence[Change]) -> dict[str, str | None]:
    """The configs that operations change in a resource; for brokers also unchanged ones, as in Kafka.

    Raises ApiError: INVALID_CONFIG, UNKNOWN_SERVER_ERROR for an unknown operation.
    """
    before, new = configs.own(kind, name), dict[str, str | None]()
    by_name = {config: (operation, value) for config, operation, value in changes}
    for config in hash_order(by_name, string_hash):  # the first error is reported
        operation, value = by_name[config]
        current = before.get(config)
        if operation not in OPERATIONS:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # without a message, as in Kafka
        after = applied(kind, config, current, operation, value)
        if after != current or kind == BROKER:
            new[config] = after
    return new


def replaced(configs: ClusterConfigs, kind: str, name: str, changes: Sequence[Change]) -> dict[str, str | None]:
    """The configs that change in a resource if these replace all of its own; for brokers also unchanged ones."""
    before = configs.own(kind, name)
    wanted = {config: value or "" for config, _, value in changes}
    new = {config: value for config, value in wanted.items() if kind == BROKER or before.get(config) != value}
    return {**new, **dict.fromkeys(config for config in before if config not in wanted)}


def applied(kind: str, config: str, current: str | None, operation: int, value: str | None) -> str | None:
    """A config after an operation, None without a value. Raises ApiError: INVALID_CONFIG."""
    if operation == ConfigOperation.DELETE:
        return None
    if operation == ConfigOperation.SET:
        return value or ""
    # Kafka's controller knows only the lists of topics and brokers.
    found = find_definition(kind, config) if kind in (TOPIC, BROKER) else None
    if found is None or found.type is not ConfigType.LIST:
        raise invalid(f"{config}: expected a list to append to or subtract from")
    return listed(current if current is not None else text_of(found.default), operation, value or "")


def listed(current: str | None, operation: int, value: str) -> str:
    """A list with entries appended or removed.

    >>> listed("a,b", ConfigOperation.APPEND, "b,c"), listed("a,b", ConfigOperation.SUBTRACT, "a,z")
    ('a,b,c', 'b')
    """
    entries = [one for one in (current or "").split(",") if one]
    for one in value.split(","):
        if operation == ConfigOperation.APPEND and one not in entries:
            entries.append(one)
        elif operation == ConfigOperation.SUBTRACT and one in entries:
            entries.remove(one)
    return ",".join(entries)


def check_sizes_and_minimum(configs: ClusterConfigs, kind: str, name: str, new: Mapping[str, str | None]) -> None:
    """Check the length of values, and that ``min.insync.replicas`` is only set for all brokers (KIP-966).

    Raises ApiError: INVALID_CONFIG.
    """
    for config, value in new.items():
        if kind == BROKER and config == MIN_INSYNC_REPLICAS and configs.keeps_min_isr:
            if name != ALL_BROKERS:
                raise invalid(f"{config}: expected no broker, or all, got broker {name}")
            if value is None:
                raise invalid(f"{config}: expected a value for all brokers, got none")
        if value is not None and len(value) > MAX_VALUE_CHARACTERS:
            raise invalid(f"{config}: expected at most {MAX_VALUE_CHARACTERS} characters, got {len(value)}")


def kind_of(number: int) -> str:
    """The kind of a resource type. Raises ApiError: INVALID_REQUEST."""
    if number in KINDS:
        return KINDS[number]
    raise invalid_request(f"expected a resource type of {sorted([*KINDS, LOGGERS])}, got {number}")
