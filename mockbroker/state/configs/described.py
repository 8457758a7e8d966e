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
    definition,
    find_definition,
    kafka_configs,
    names,
)
from mockbroker.state.configs.effective import (
    ALL_BROKERS,
    LISTENER_PREFIX,
    ClusterConfigs,
    ConfigSource,
    Layer,
    without_listener,
)
from mockbroker.state.configs.values import text_of

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker

SOURCES = {TOPIC: ConfigSource.TOPIC, GROUP: ConfigSource.GROUP, CLIENT_METRICS: ConfigSource.CLIENT_METRICS}
OUR_PREFIXES = ("replica.placer.",)


@dataclass(slots=True)
class DescribedConfig:
    """A config of a resource; ``synonyms`` have names, values and sources, highest precedence first.

    The ``definition`` of a listener's config is that of the config without the listener's name.
    """

    name: str
    value: str | None
    source: ConfigSource
    synonyms: list[Layer]
    definition: ConfigDefinition | None = None
    is_sensitive: bool = False
    is_read_only: bool = False


def resource_configs(configs: ClusterConfigs, broker: Broker, kind: str, resource: str) -> Iterator[DescribedConfig]:
    """The configs of a topic, a group or a client metrics subscription, described by a broker.

    The value of a group's config is the one that was set, although brokers may limit it.
    """
    own = configs.own(kind, resource)
    for name in filter(partial(configs.has, kind), names(kind)):
        found = definition(kind, name)
        is_set = name in own
        value = configs.value(kind, resource, name, broker.id)
        if found.is_internal and not is_set and (kind == GROUP or value == found.default):
            continue
        synonyms: list[Layer] = [(name, text_of(value), SOURCES[kind])] if is_set else []
        if found.synonyms:
            nearest = found.synonyms[0][0]
            synonyms += of_broker(configs, broker, nearest, synonyms_of(nearest))
        elif kind == GROUP and found.default is not None:
            synonyms.append((name, text_of(found.default), ConfigSource.DEFAULT))
        yield DescribedConfig(name, text_of(value), source_of(synonyms), synonyms, found)


def broker_configs(configs: ClusterConfigs, broker: Broker) -> Iterator[DescribedConfig]:
    """A broker's own configs."""
    own = configs.own(BROKER, str(broker.id))
    given = {*configs.static(broker.id), *own, *configs.own(BROKER, ALL_BROKERS)}
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
        synonyms = [synonym for synonym, _ in found.synonyms]
        layers = [(name, None, ConfigSource.TOPIC)] if name in own else list(configs.layers(synonyms, None))
        value = text_of(own[name] if name in own else configs.default(TOPIC, name))
        yield DescribedConfig(name, value, source_of(layers), [], found)


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
    return DescribedConfig(name, value, source_of(synonyms), synonyms, found, sensitive, is_read_only)


def of_broker(
    configs: ClusterConfigs, broker: Broker, name: str, synonyms: Sequence[str], *, hidden: bool = False
) -> list[Layer]:
    """The values of a broker's config by source, from the config's own name on: Kafka omits earlier synonyms."""
    found = list(configs.layers(synonyms, broker.id))
    found += [
        (one.name, text_of(one.default), ConfigSource.DEFAULT)
        for one in map(partial(find_definition, BROKER), synonyms)
        if one is not None and one.default is not None and one.name not in kafka_configs()["broker_dynamic_only"]
    ]
    first = next((index for index, one in enumerate(found) if one[0] == name), len(found))
    return [(at, None if hidden else text, source) for at, text, source in found[first:]]


def synonyms_of(name: str) -> tuple[str, ...]:
    """The synonyms of a broker config; for a listener's config, the listener's name first."""
    base = without_listener(name, of_mechanism=False)
    found = find_definition(BROKER, name)
    return (name, base) if base != name else tuple(one for one, _ in found.synonyms) if found else (name,)


def source_of(synonyms: Sequence[Layer]) -> ConfigSource:
    return synonyms[0][2] if synonyms else ConfigSource.DEFAULT
