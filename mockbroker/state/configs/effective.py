"""The effective values of configs, and what DescribeConfigs shows of them: sources and synonyms.

Source: KafkaConfigSchema.resolveEffectiveTopicConfig, DynamicBrokerConfig, GroupConfig.evaluate, ConfigHelper, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, partial
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
    line_of,
    names,
)
from mockbroker.state.configs.values import ConfigType, text_of
from mockbroker.state.image import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from mockbroker.state.settings import DIFFERENT_DEFAULTS

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster

RESOURCE_TYPES = {
    TOPIC: TOPIC_RESOURCE,
    BROKER: BROKER_RESOURCE,
    GROUP: GROUP_RESOURCE,
    CLIENT_METRICS: CLIENT_METRICS_RESOURCE,
}
ALL_BROKERS = ""
LISTENER_PREFIX = "listener.name."
MIN_INSYNC_REPLICAS = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"

Listener = Callable[[str, str, frozenset[str]], None]


class ConfigSource(IntEnum):
    """The source of a value, numbered as in DescribeConfigs."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


Layer = tuple[str, str | None, ConfigSource]
"""A config's name or synonym, its value there as text, and the source of the value."""
SOURCES = {TOPIC: ConfigSource.TOPIC, GROUP: ConfigSource.GROUP, CLIENT_METRICS: ConfigSource.CLIENT_METRICS}
OUR_PREFIXES = ("replica.placer.",)


def own_name(listener: str, name: str) -> str:
    """A config's name for one listener.

    >>> own_name("INSIDE", "max.connections")
    'listener.name.inside.max.connections'
    """
    return f"{LISTENER_PREFIX}{listener.lower()}.{name}"


def without_listener(name: str, *, of_mechanism: bool = True) -> str:
    """The config's name without its listener.

    Args:
        of_mechanism: retain the prefix of a SASL mechanism.

    >>> without_listener("listener.name.inside.scram-sha-256.sasl.jaas.config", of_mechanism=False)
    'sasl.jaas.config'
    """
    if not name.startswith(LISTENER_PREFIX) or name.count(".") < 3:
        return name
    base = name.split(".", 3)[3]
    if not of_mechanism:
        base = next((one for one in kafka_configs()["of_listener_mechanisms"] if base.endswith(one)), base)
    return base


@dataclass(slots=True, eq=False)
class ClusterConfigs:
    """The configs of a cluster's topics, brokers, groups and client metrics; usage is in the package's docstring.

    Cached, with KeyError for an unknown name:
        ``default(kind, name, broker_id=None)``: the value of a topic, a group or a client metrics subscription without
            its own.
        ``broker(broker_id, name)``: a broker's value; for None, the value for all brokers.
        ``listener(broker_id, listener, name)``: ``listener.name.LISTENER.NAME`` if set, or else the plain config.
    """

    cluster: Cluster
    listeners: list[Listener] = field(default_factory=list)
    default: Any = field(init=False)
    broker: Any = field(init=False)
    listener: Any = field(init=False)

    def __post_init__(self) -> None:
        self.default = cache(self._default)
        self.broker = cache(self._broker)
        self.listener = cache(self._of_listener)

    # effective values

    def value(self, kind: str, resource: str, name: str, broker_id: int | None = None) -> Any:
        """A resource's own value, else the default. Raises KeyError: there is no such config."""
        text = self.own(kind, resource).get(name)
        if text is None:
            return self.default(kind, name, broker_id)
        return definition(kind, name).parse(text, in_range=False)

    def group(self, group_id: str, name: str) -> Any:
        """A group's value, its own within the brokers' limits. Raises KeyError: there is no such config."""
        value = self.value(GROUP, group_id, name)
        if name not in self.own(GROUP, group_id):
            return value
        for (end, _), bound in self.bounds(name).items():
            value = max(value, bound) if end == "min" else min(value, bound)
        return value

    def has(self, kind: str, name: str) -> bool:
        """True if brokers have such a config: an emulated release has no later ones."""
        release = self.cluster.release
        exists = find_definition(kind, name) is not None
        if release is None or not exists or not self.cluster.support.is_kraft:
            return exists
        from mockbroker.state.releases import is_since

        line = line_of(kind, name)
        return line == "4.0" or is_since(release, line)

    # sources

    def own(self, kind: str, resource: str) -> Mapping[str, str]:
        """The configs set on a resource at run time, as text by name; for all brokers with Kafka's own."""
        found: Mapping[str, str] = self.cluster.image.configs.get((RESOURCE_TYPES[kind], resource), {})
        if kind == BROKER and resource == ALL_BROKERS and MIN_INSYNC_REPLICAS not in found and self.keeps_min_isr:
            return {**found, MIN_INSYNC_REPLICAS: self.static().get(MIN_INSYNC_REPLICAS, "1")}
        return found

    def resources(self, kind: str) -> list[str]:
        """The resources of a kind with configs, sorted."""
        wanted = RESOURCE_TYPES[kind]
        return sorted(name for number, name in self.cluster.image.configs if number == wanted)

    @property
    def keeps_min_isr(self) -> bool:
        """True if ``min.insync.replicas`` can only be set for all brokers, as since KIP-966 (4.1)."""
        from mockbroker.state.features import feature_level

        return feature_level(self.cluster, "eligible.leader.replicas.version") > 0

    def static(self, broker_id: int | None = None) -> dict[str, str]:
        """The static configs of brokers as text: the cluster's settings, and with an id that broker's own."""
        settings = self.cluster.settings
        given = {
            name for name, (ours, _) in DIFFERENT_DEFAULTS.items() if settings[name] == ours
        } | settings.given_names
        found = {name: text for name in sorted(given) if (text := text_of(settings[name])) is not None}
        broker = None if broker_id is None else self.cluster.brokers.get(broker_id)
        if broker is None:
            return found
        found.update(broker.settings)
        found["node.id"] = found["broker.id"] = str(broker.id)
        if broker.rack is not None:
            found["broker.rack"] = broker.rack
        listeners = ",".join(f"{one.name}://{one.host}:{one.port}" for one in broker.listeners)
        found.setdefault("listeners", listeners)
        found["advertised.listeners"] = listeners
        if self.cluster.support.is_kraft:
            found.setdefault("process.roles", "broker,controller")
            found.setdefault("controller.listener.names", "CONTROLLER")
        return found

    def layers(self, names: Iterable[str], broker_id: int | None) -> Iterator[Layer]:
        """The values of a broker config that are set under any of its names, highest precedence first."""
        of_broker = {} if broker_id is None else self.own(BROKER, str(broker_id))
        for source, found in (
            (ConfigSource.DYNAMIC_BROKER, of_broker),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER, self.own(BROKER, ALL_BROKERS)),
            (ConfigSource.STATIC_BROKER, self.static(broker_id)),
        ):
            yield from ((name, found[name], source) for name in names if name in found)

    # changes

    def on_change(self, listener: Listener) -> None:
        """Call a listener with kind, resource and names after each change."""
        self.listeners.append(listener)

    def write(self, kind: str, resource: str, values: Mapping[str, str | None]) -> None:
        """Set configs of a resource, or remove them by None, without validation."""
        from protocol.embedded.metadata_settings import ConfigRecord

        resource_type = RESOURCE_TYPES[kind]
        self.cluster.writer.commit(
            ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=value)
            for name, value in values.items()
        )
        if kind == BROKER:
            for cached in (self.default, self.broker, self.listener):
                cached.cache_clear()
        for topic in self.cluster.topics.values():
            if kind == BROKER or (kind == TOPIC and topic.name == resource):
                topic.configs_changed()
        for listener in self.listeners:
            listener(kind, resource, frozenset(values))

    # internals

    def _default(self, kind: str, name: str, broker_id: int | None = None) -> Any:
        found = definition(kind, name)
        values = [
            (one, definition(BROKER, one).parse(text, in_range=False))
            for one, text, _ in self.layers(found.synonyms, broker_id)
        ]
        if found.default is None:
            values += [(one, definition(BROKER, one).default) for one in found.synonyms]
        for synonym, value in values:
            if value is not None:
                if isinstance(value, tuple) and found.type is not ConfigType.LIST:
                    return value[0]
                factor = found.synonyms[synonym]
                return value if factor == 1 else max(-1, value * factor)
        return found.default

    def _broker(self, broker_id: int | None, name: str) -> Any:
        for _, text, source in self.layers([name], broker_id) if self.cluster.image.configs else ():
            if source is not ConfigSource.STATIC_BROKER:
                found = find_definition(BROKER, name)
                return text if found is None else found.parse(text, in_range=False)
        return self.cluster.settings[name]

    def _of_listener(self, broker_id: int | None, listener: str, name: str) -> Any:
        for _, text, _ in self.layers([own_name(listener, name)], broker_id):
            return definition(BROKER, name).parse(text, in_range=False)
        return self.broker(broker_id, name)

    def bounds(self, name: str) -> dict[tuple[str, str], int]:
        """The brokers' limits of a group's config, by "min" or "max" and the limit's name."""
        kind, _, rest = name.partition(".")
        ends = ((end, f"group.{kind}.{end}.{rest.removeprefix('num.')}") for end in ("min", "max"))
        return {(end, limit): self.broker(None, limit) for end, limit in ends if find_definition(BROKER, limit)}


# described


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
            nearest = next(iter(found.synonyms))
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
        layers = [(name, None, ConfigSource.TOPIC)] if name in own else list(configs.layers(found.synonyms, None))
        value = text_of(own[name] if name in own else configs.default(TOPIC, name))
        yield DescribedConfig(name, value, source_of(layers), [], found)


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
    return (name, base) if base != name else tuple(found.synonyms) if found else (name,)


def source_of(synonyms: Sequence[Layer]) -> ConfigSource:
    return synonyms[0][2] if synonyms else ConfigSource.DEFAULT
