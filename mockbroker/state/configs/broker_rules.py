"""Rules for broker configs that change at run time: which may change, and their new values.

Source: DynamicBrokerConfig.validateConfigs, DynamicThreadPool, DynamicLogConfig, DynamicRemoteLogConfig, LogCleaner,
KafkaConfig.validateValues, Apache Kafka 4.4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mockbroker.state.configs.definitions import (
    BROKER,
    TOPIC,
    ConfigDefinition,
    definition,
    find_definition,
    kafka_configs,
)
from mockbroker.state.configs.effective import own_name, without_listener
from mockbroker.state.configs.values import ConfigType, InvalidValueError
from mockbroker.state.errors import invalid_request

if TYPE_CHECKING:
    from mockbroker.state.configs.effective import ClusterConfigs

THREAD_POOLS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
)
"""The thread pools, whose size may at most double or halve in one change."""
ABOVE_ZERO = (
    "remote.log.index.file.cache.total.size.bytes",
    "remote.log.manager.copy.max.bytes.per.second",
    "remote.log.manager.fetch.max.bytes.per.second",
)
LOCAL = (("log.local.retention.ms", "log.retention.ms"), ("log.local.retention.bytes", "log.retention.bytes"))
LIKE_ALL, FOR_EVER = -2, -1
AT_LEAST = {"log.roll.ms": 1, "log.roll.jitter.ms": 0, "producer.id.expiration.ms": 0}
MEGABYTE = 1 << 20
KAFKA_CLASSES = ("org.apache.kafka.", "java.")
REPORTERS = "metric.reporters"
CONNECTION_LIMITS = ("max.connection.creation.rate", "max.connections")
LIMITS_BY_IP = "max.connections.per.ip.overrides"
LIMIT_OF_IP = re.compile(r".*:[+-]?[0-9]+\s*")


def check_broker_configs(configs: ClusterConfigs, broker_id: int | None, wanted: Mapping[str, str]) -> None:
    """Check that a broker, or for None all brokers, may have exactly these configs set at run time.

    Raises ApiError: INVALID_REQUEST.
    """
    fixed = sorted(set(wanted).intersection(kafka_configs()["not_dynamic"]))
    if fixed:
        raise invalid_request(f"expected configs that may change at run time, got {', '.join(fixed)}")
    bare = sorted(set(wanted).intersection(kafka_configs()["only_with_listener_prefix"]))
    if bare:
        raise invalid_request(f"expected listener.name.NAME. before {', '.join(bare)}")
    brokers = configs.cluster.brokers
    used = [] if broker_id is None else [brokers[broker_id]]
    prefixes = tuple(own_name(one.name, "") for broker in used or brokers.values() for one in broker.listeners)
    for name in sorted(wanted):
        check_type(without_listener(name), wanted[name], of_a_listener=name.startswith(prefixes))
    if broker_id is None:
        own = [name for name in sorted(wanted) if is_per_broker(name)]
        if own:
            raise invalid_request(f"expected the id of a broker to set {', '.join(own)} on, got none")
    check_changes(BrokerConfigChange(configs, broker_id, wanted))


def check_type(name: str, text: str, *, of_a_listener: bool) -> None:
    """Raises ApiError: INVALID_REQUEST unless the text is a valid value, which of a listener may be unused."""
    found = find_definition(BROKER, name)
    if found is None and of_a_listener:
        found = find_definition(BROKER, name.partition(".")[2])  # of a mechanism
    if found is None:
        return  # it may be a plugin's
    if found.update_mode == "read-only" and name not in kafka_configs()["broker_dynamic_only"] and not of_a_listener:
        return
    value = parsed(found, text)
    if found.type is ConfigType.CLASS and value and not value.startswith(KAFKA_CLASSES):
        raise invalid_request(f"{name}: expected a class that the broker can load, got {text!r}")
    if name == REPORTERS and not all(one.startswith(KAFKA_CLASSES) for one in value):
        raise invalid_request(f"{name}: expected classes that the broker can load, got {text!r}")
    limits = text.strip().rstrip(",")
    if name == LIMITS_BY_IP and limits and not all(LIMIT_OF_IP.fullmatch(one) for one in limits.split(",")):
        raise invalid_request(f"{name}: expected ADDRESS:NUMBER, one or several with commas between them, got {text!r}")


def is_per_broker(name: str) -> bool:
    """True if a config can only be set for individual brokers, not for all."""
    base = without_listener(name)
    if base != name:
        return base not in kafka_configs()["cluster_wide_of_listeners"]
    return bool(kafka_configs()["dynamic"].get(name) == "per-broker")


@dataclass(slots=True, frozen=True)
class BrokerConfigChange:
    """The new configs of a broker, or for None of all brokers."""

    configs: ClusterConfigs
    broker_id: int | None
    wanted: Mapping[str, str]

    def before(self, name: str) -> Any:
        """The effective value before the change."""
        return self.configs.broker(self.broker_id, name)

    def after(self, name: str) -> Any:
        """The value after the change."""
        return definition(BROKER, name).parse(self.wanted[name]) if name in self.wanted else self.before(name)


def check_changes(change: BrokerConfigChange) -> None:
    """Check a change of effective values. Raises ApiError: INVALID_REQUEST."""
    check_sizes(change)
    check_retention(change)
    for name, least in AT_LEAST.items():
        value = change.after(name)
        if value is not None and value < least:
            raise invalid_request(f"{name}: expected at least {least}, got {value}")
    threads = change.after("log.cleaner.threads")
    if change.after("log.cleaner.dedupe.buffer.size") // threads <= MEGABYTE:
        raise invalid_request(f"log.cleaner.dedupe.buffer.size: expected more than 1 MiB for each of {threads} threads")
    if change.after("max.connections.per.ip") == 0 and not change.after("max.connections.per.ip.overrides"):
        raise invalid_request("max.connections.per.ip: expected more than 0, or overrides, got 0")
    check_connections(change)
    check_cordoned(change)


def check_connections(change: BrokerConfigChange) -> None:
    """Check that each listener can still accept connections. Raises ApiError: INVALID_REQUEST."""
    cluster = change.configs.cluster
    brokers = cluster.brokers.values() if change.broker_id is None else [cluster.brokers[change.broker_id]]
    for listener in sorted({one.name for broker in brokers for one in broker.listeners}):
        for name in CONNECTION_LIMITS:
            own = own_name(listener, name)
            asked = own if own in change.wanted else name
            is_hidden = asked == name and any(True for _ in change.configs.layers((own,), change.broker_id))
            if asked not in change.wanted or is_hidden:
                continue
            most = int(change.wanted[asked])
            if most < 1 and most != change.configs.listener(change.broker_id, listener, name):
                raise invalid_request(f"{asked}: expected at least 1, got {most}")


def check_sizes(change: BrokerConfigChange) -> None:
    """Check that thread pools at most double or halve. Raises ApiError: INVALID_REQUEST."""
    for asked in sorted(change.wanted):
        name = without_listener(asked)
        if name not in (*THREAD_POOLS, *ABOVE_ZERO):
            continue
        before, new = change.before(name), definition(BROKER, name).parse(change.wanted[asked])
        if new == before:
            continue
        if new < 1:
            raise invalid_request(f"{name}: expected at least 1, got {new}")
        if name in THREAD_POOLS and not before // 2 <= new <= before * 2:
            raise invalid_request(
                f"{name}: expected {before // 2} to {before * 2}, as {before} may halve or double, got {new}"
            )


def check_retention(change: BrokerConfigChange) -> None:
    """Check that local retention does not exceed the total retention. Raises ApiError: INVALID_REQUEST."""
    retention_ms = retention(change)
    if retention_ms == 0 or retention_ms < FOR_EVER:
        raise invalid_request(f"log.retention.ms: expected -1, or at least 1, got {retention_ms}")
    for local, whole in LOCAL:
        kept = retention_ms if whole == "log.retention.ms" else change.after(whole)
        here = change.after(local)
        if kept > FOR_EVER and here != LIKE_ALL and (here == FOR_EVER or here > kept):
            raise invalid_request(f"{local}: expected at most {whole} ({kept}), or -2 for the same, got {here}")


def retention(change: BrokerConfigChange) -> int:
    """The new retention time of topics in ms."""
    for name, factor in definition(TOPIC, "retention.ms").synonyms.items():
        if name in change.wanted:
            value = int(change.after(name))
            return value * factor if value >= 0 else FOR_EVER
    return int(change.configs.default(TOPIC, "retention.ms", change.broker_id))


def check_cordoned(change: BrokerConfigChange) -> None:
    """Check that these are log directories of the broker, or only ``*``. Raises ApiError: INVALID_REQUEST."""
    wanted = change.after("cordoned.log.dirs")
    if "*" in wanted:
        if len(wanted) > 1:
            raise invalid_request("cordoned.log.dirs: expected * alone")
        return
    there = change.before("log.dirs") or change.before("log.dir")
    missing = [one for one in wanted if one not in there]
    if missing:
        raise invalid_request(f"cordoned.log.dirs: expected some of {', '.join(there)}, got {', '.join(missing)}")


def parsed(found: ConfigDefinition, text: str) -> Any:
    """A value of a config. Raises ApiError: INVALID_REQUEST."""
    try:
        return found.parse(text, distinct=False)
    except InvalidValueError as error:
        raise invalid_request(str(error)) from None
