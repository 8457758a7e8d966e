"""Configs changed at run time: what the broker that is asked checks, what the controller checks, and what is written.

Source: ConfigAdminManager.preprocess, ConfigurationControlManager, ControllerConfigurationValidator, Apache Kafka 4.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from kafka_rack.java import hash_order, string_hash
from mockbroker.state.configs.broker_rules import check_broker_configs
from mockbroker.state.configs.definitions import BROKER, CLIENT_METRICS, GROUP, TOPIC, find_definition
from mockbroker.state.configs.effective import ALL_BROKERS, MIN_INSYNC_REPLICAS, RESOURCE_TYPES, ClusterConfigs
from mockbroker.state.configs.group_rules import check_client_metrics_configs, check_group_configs
from mockbroker.state.configs.loggers import LEVELS, ROOT
from mockbroker.state.configs.topic_rules import check_topic_configs, invalid
from mockbroker.state.configs.values import ConfigType, text_of
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.topic import check_topic_name
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker

KINDS = {number: kind for kind, number in RESOURCE_TYPES.items()}
MAX_VALUE_CHARACTERS = 32767
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
MOST_ID_CHARACTERS = 1_000


class ConfigOperation(IntEnum):
    """What is to become of a config, numbered as IncrementalAlterConfigs has it (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


OPERATIONS = frozenset(ConfigOperation)
Change = tuple[str, int, str | None]
"""A config's name, the number of an operation, and its value."""
Resource = tuple[int, str]
"""The number of a resource's type, and its name."""


@dataclass(slots=True, frozen=True)
class ConfigAlterations:
    """Changes that a client asks one broker for."""

    configs: ClusterConfigs
    broker: Broker
    validate_only: bool

    def incremental(self, resource: Resource, changes: Sequence[Change]) -> Callable[[], None] | None:
        """Check, as the broker that is asked, single changes of a resource.

        Returns: what the controller is to do, None where the broker itself has done all.

        Raises ApiError: INVALID_REQUEST, INVALID_CONFIG.
        """
        type_number, name = resource
        check_changes(changes)
        kind = KINDS.get(type_number)
        if type_number == LOGGERS:
            self._alter_loggers(name, changes)
            return None
        if kind is None:
            raise unknown_type(type_number)
        if kind == BROKER:
            if name:
                check_broker_id(name, self.broker.id)
            after = self.broker_after(name, changes)
            check_broker_configs(self.configs, int(name) if name else None, after)
        return lambda: self._write(kind, name, changed(self.configs, kind, name, changes))

    def fails_controller(self, resource: Resource, changes: Sequence[Change]) -> bool:
        """Whether Kafka's controller fails at a resource, and so does nothing of all that it is asked."""
        kind = KINDS.get(resource[0])
        try:
            if kind is not None:
                changed(self.configs, kind, resource[1], changes)
        except ApiError as error:
            return error.code == ErrorCode.UNKNOWN_SERVER_ERROR
        return False

    def whole(self, resource: Resource, values: Sequence[tuple[str, str | None]]) -> Callable[[], None]:
        """Check, as the broker that is asked, that a resource has these configs and no others.

        Returns: what the controller is to do.

        Raises ApiError: INVALID_REQUEST.
        """
        type_number, name = resource
        check_changes([(config, ConfigOperation.SET, value) for config, value in values])
        kind = KINDS.get(type_number)
        if kind is None:
            raise unknown_type(type_number)
        wanted = {config: value or "" for config, value in values}
        if kind == BROKER:
            if name:
                check_broker_id(name, self.broker.id)
            check_broker_configs(self.configs, int(name) if name else None, wanted)

        def write() -> None:
            before = self.configs.own(kind, name)
            new: dict[str, str | None] = {
                config: value for config, value in wanted.items() if kind == BROKER or before.get(config) != value
            }
            new.update((config, None) for config in before if config not in wanted)
            self._write(kind, name, new)

        return write

    def broker_after(self, name: str, changes: Sequence[Change]) -> dict[str, str]:
        """What a broker, or by "" all, would have. Raises ApiError: INVALID_REQUEST, INVALID_CONFIG."""
        after = dict(self.configs.own(BROKER, name))
        for config, operation, value in changes:
            if operation not in OPERATIONS:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"expected an operation from 0 to 3, got {operation}")
            if operation == ConfigOperation.DELETE:
                after.pop(config, None)
            elif operation == ConfigOperation.SET:
                after[config] = value or ""
            else:
                found = find_definition(BROKER, config)
                if found is None or found.type is not ConfigType.LIST:
                    raise invalid(f"{config}: expected a list to append to or subtract from")
                after[config] = listed(after.get(config, text_of(found.default)), operation, value or "")
        return after

    # what the controller does

    def _write(self, kind: str, name: str, new: Mapping[str, str | None]) -> None:
        """Check, as the controller, what changes, and write it. Raises ApiError."""
        before = self.configs.own(kind, name)
        check_sizes_and_minimum(self.configs, kind, name, new)
        after = {config: value for config, value in {**before, **new}.items() if value is not None}
        self._check_as_controller(kind, name, after, before)
        if not self.validate_only and new:
            self.configs.write(kind, name, new)

    def _check_as_controller(self, kind: str, name: str, after: Mapping[str, str], before: Mapping[str, str]) -> None:
        if kind == TOPIC:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "expected the name of a topic, got ''")
            check_topic_name(name)
            check_topic_configs(self.configs, after, before)
            if name not in self.configs.cluster.topics:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
        elif kind == GROUP:
            check_group_configs(self.configs, name, after)
        elif kind == CLIENT_METRICS:
            check_client_metrics_configs(name, after)

    # loggers, which the broker keeps itself

    def _alter_loggers(self, name: str, changes: Sequence[Change]) -> None:
        check_broker_id(name, self.broker.id)
        loggers = self.broker.loggers
        for logger, operation, level in changes:
            if operation not in (ConfigOperation.SET, ConfigOperation.DELETE):
                raise ApiError(ErrorCode.INVALID_REQUEST, f"expected to set or delete a level, got {operation}")
            if not loggers.exists(logger):
                raise invalid(f"there is no logger {logger}")
            if operation == ConfigOperation.SET and level not in LEVELS:
                raise invalid(f"{logger}: expected one of {', '.join(LEVELS)}, got {level!r}")
            if operation == ConfigOperation.DELETE and logger == ROOT:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"the logger {ROOT} always has a level")
        if not self.validate_only:
            for logger, operation, level in changes:
                loggers.set(logger, level if operation == ConfigOperation.SET else None)


LOGGERS = 8  # ConfigResource.Type


def check_changes(changes: Sequence[Change]) -> None:
    """Nothing if each config comes once and has a value where it needs one. Raises ApiError: INVALID_REQUEST."""
    if len({name for name, *_ in changes}) != len(changes):
        raise ApiError(ErrorCode.INVALID_REQUEST, "expected each config once")
    nulls = [name for name, operation, value in changes if value is None and operation != ConfigOperation.DELETE]
    if nulls:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"expected a value for {', '.join(nulls)}, got null")


def check_broker_id(name: str, broker_id: int) -> None:
    """Nothing if a resource's name is the id of the broker that is asked. Raises ApiError: INVALID_REQUEST."""
    if len(name) > MOST_ID_CHARACTERS or not WHOLE_NUMBER.fullmatch(name) or int(name) != broker_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"expected {broker_id}, the broker that was asked, got {name!r}")


def changed(configs: ClusterConfigs, kind: str, name: str, changes: Sequence[Change]) -> dict[str, str | None]:
    """What operations make of a resource's configs; those that stay as they are only for brokers, as Kafka does.

    Raises ApiError: INVALID_CONFIG, UNKNOWN_SERVER_ERROR for an operation that there is not.
    """
    before, new = configs.own(kind, name), dict[str, str | None]()
    by_name = {config: (operation, value) for config, operation, value in changes}
    for config in hash_order(by_name, string_hash):  # the first that is wrong counts
        operation, value = by_name[config]
        current = before.get(config)
        if operation not in OPERATIONS:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # without words, as Kafka
        if operation in (ConfigOperation.SET, ConfigOperation.DELETE):
            after = value if operation == ConfigOperation.SET else None
        else:
            # Kafka's controller knows of lists of topics and brokers alone.
            found = find_definition(kind, config) if kind in (TOPIC, BROKER) else None
            if found is None or found.type is not ConfigType.LIST:
                raise invalid(f"{config}: expected a list to append to or subtract from")
            after = listed(current if current is not None else text_of(found.default), operation, value or "")
        if after != current or kind == BROKER:
            new[config] = after
    return new


def listed(current: str | None, operation: int, value: str) -> str:
    """A list with entries more or fewer.

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
    """Nothing if values are short enough and all brokers keep one ``min.insync.replicas`` (KIP-966).

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


def unknown_type(number: int) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, f"expected a resource type of {sorted([*KINDS, LOGGERS])}, got {number}")
