"""A resource's configs for DescribeConfigs: value, source and synonyms.

Source: ConfigHelper, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mockbroker.state.configs.definitions import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    OURS,
    TOPIC,
    ConfigDefinition,
    broker_synonyms,
    definition,
    dynamic_only_names,
    find_definition,
    group_synonym,
    names,
    topic_synonyms,
)
from mockbroker.state.configs.effective import ALL_BROKERS, LISTENER_PREFIX, ClusterConfigs, ConfigSource
from mockbroker.state.configs.values import ConfigType, text_of

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker

SOURCES = {TOPIC: ConfigSource.TOPIC, GROUP: ConfigSource.GROUP, CLIENT_METRICS: ConfigSource.CLIENT_METRICS}
OUR_PREFIXES = ("replica.placer.",)

Synonym = tuple[str, str | None, ConfigSource]


@dataclass(slots=True)
class DescribedConfig:
    """A config of a resource; ``synonyms`` have names, values and sources, highest precedence first."""

    name: str
    value: str | None
    source: ConfigSource
    type: ConfigType
    synonyms: list[Synonym]
    is_sensitive: bool = False
    is_read_only: bool = False
    definition: ConfigDefinition | None = None


def resource_configs(configs: ClusterConfigs, broker: Broker, kind: str, resource: str) -> Iterator[DescribedConfig]:
    """The configs of a topic, a group or a client metrics subscription, described by a broker.

    The value of a group's config is the one that was set, although brokers may limit it.
    """
    own = configs.own(kind, resource)
    for name in filter(partial(configs.has, kind), names(kind)):
        found = definition(kind, name)
        is_set = name in own
        value = found.parse(own[name], in_range=False) if is_set else configs.default(kind, name, broker.id)
        if found.is_internal and not is_set and (kind == GROUP or value == found.default):
            continue
        synonyms: list[Synonym] = [(name, text_of(value), SOURCES[kind])] if is_set else []
        nearest = group_synonym(name) if kind == GROUP else next((one for one, _ in topic_synonyms(name)), None)
        if nearest is not None and kind != CLIENT_METRICS:
            synonyms += of_broker(configs, broker, nearest, broker_synonyms(nearest))
        elif kind == GROUP and found.default is not None:
            synonyms.append((name, text_of(found.default), ConfigSource.DEFAULT))
        yield DescribedConfig(name, text_of(value), source_of(synonyms), found.type, synonyms, definition=found)


def broker_configs(configs: ClusterConfigs, broker: Broker) -> Iterator[DescribedConfig]:
    """A broker's own configs."""
    facts = started_with(configs, broker)
    own = configs.own(BROKER, str(broker.id))
    given = {*facts, *own, *configs.own(BROKER, ALL_BROKERS)}
    for name in sorted({*filter(partial(configs.has, BROKER), names(BROKER)), *given}):
        found = find_definition(BROKER, name)
        if found is None or not found.is_internal or name in given:
            yield broker_config(configs, broker, name, found)


def shared_configs(configs: ClusterConfigs, broker: Broker) -> Iterator[DescribedConfig]:
    """The configs that were set for all brokers at run time."""
    for name, text in sorted(configs.own(BROKER, ALL_BROKERS).items()):
        entry = broker_config(configs, broker, name, find_definition(BROKER, name))
        entry.synonyms = [one for one in entry.synonyms if one[2] is ConfigSource.DYNAMIC_DEFAULT_BROKER]
        entry.value = None if entry.is_sensitive else text
        entry.source = source_of(entry.synonyms)
        yield entry


def effective_topic_configs(configs: ClusterConfigs, own: Mapping[str, Any]) -> Iterator[DescribedConfig]:
    """The configs of a new topic, described by the controller: its own as they were set.

    Source: KafkaConfigSchema.resolveEffectiveTopicConfigs, Apache Kafka 4.4.
    """
    for name in filter(partial(configs.has, TOPIC), names(TOPIC)):
        found = definition(TOPIC, name)
        if found.is_internal and name not in own:
            continue
        if name in own:
            value, source = text_of(own[name]), ConfigSource.TOPIC
        else:
            value = text_of(configs.topic_default(name))
            synonyms = [synonym for synonym, _ in topic_synonyms(name)]
            source = next((one for one, *_ in configs.layers(synonyms, None)), ConfigSource.DEFAULT)
        yield DescribedConfig(name, value, source, found.type, [], definition=found)


# parts


def broker_config(
    configs: ClusterConfigs, broker: Broker, name: str, found: ConfigDefinition | None
) -> DescribedConfig:
    """A config of a broker; without a definition it may be a secret."""
    ours = name in OURS[BROKER] or name.startswith(OUR_PREFIXES)
    is_read_only = found is None or found.update_mode == "read-only"
    if name.startswith(LISTENER_PREFIX):
        found = find_definition(BROKER, synonyms_of(name)[-1])
    sensitive = not ours if found is None else found.is_sensitive
    synonyms = of_broker(configs, broker, name, synonyms_of(name), hidden=sensitive)
    value = next((text for at, text, _ in synonyms if at == name), None)
    if found is not None and value is not None and not sensitive:
        value = text_of(found.parse(value, in_range=False))
    return DescribedConfig(
        name,
        value,
        source_of(synonyms),
        ConfigType.UNKNOWN if found is None else found.type,
        synonyms,
        is_sensitive=sensitive,
        is_read_only=is_read_only,
        definition=None if name.startswith(LISTENER_PREFIX) else found,
    )


def of_broker(
    configs: ClusterConfigs, broker: Broker, name: str, synonyms: Sequence[str], *, hidden: bool = False
) -> list[Synonym]:
    """The values of a broker's config by source, from the config's own name on: Kafka omits earlier synonyms."""
    facts = started_with(configs, broker)
    found: list[Synonym] = [
        (at, text, source)
        for source, at, text in configs.layers(synonyms, broker.id)
        if source is not ConfigSource.STATIC_BROKER
    ]
    found += [(at, facts[at], ConfigSource.STATIC_BROKER) for at in synonyms if at in facts]
    for at in synonyms:
        one = find_definition(BROKER, at)
        if one is not None and one.default is not None and at not in dynamic_only_names():
            found.append((at, text_of(one.default), ConfigSource.DEFAULT))
    first = next((index for index, one in enumerate(found) if one[0] == name), len(found))
    return [(at, None if hidden else text, source) for at, text, source in found[first:]]


def synonyms_of(name: str) -> tuple[str, ...]:
    """The synonyms of a broker config; for a listener's config, the listener's name first."""
    if not name.startswith(LISTENER_PREFIX):
        return broker_synonyms(name)
    from mockbroker.state.configs.broker_rules import without_listener

    return (name, without_listener(name, of_mechanism=False))


def source_of(synonyms: Sequence[Synonym]) -> ConfigSource:
    return synonyms[0][2] if synonyms else ConfigSource.DEFAULT


def started_with(configs: ClusterConfigs, broker: Broker) -> dict[str, str]:
    """A broker's static configs: the cluster's settings, and its own."""
    settings = configs.cluster.settings
    found = {name: text for name in sorted(settings) if (text := configs.static(name)) is not None}
    found.update(broker.settings)
    found["node.id"] = found["broker.id"] = str(broker.id)
    if broker.rack is not None:
        found["broker.rack"] = broker.rack
    listeners = ",".join(f"{one.name}://{one.host}:{one.port}" for one in broker.listeners)
    found.setdefault("listeners", listeners)
    found["advertised.listeners"] = listeners
    if configs.cluster.support.is_kraft:
        found.setdefault("process.roles", "broker,controller")
        found.setdefault("controller.listener.names", "CONTROLLER")
    return found
