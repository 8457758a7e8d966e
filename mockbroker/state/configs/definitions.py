"""What Kafka says of each of its configs: type, default, which values are valid, synonyms, how brokers' may change.

The definitions are read with the first one that is asked for, the documentation apart from them.

Source: kafka_configs.json and kafka_documentation.json.gz, what the classes of Apache Kafka 4.4.0 define;
tests/conformance/ConfigDefinitions.java writes them. since.json, what came with 4.1 to 4.4, by ConfigsOfReleases.java.

>>> definition("topic", "retention.ms").default
604800000
>>> definition("broker", "log.retention.ms").update_mode
'cluster-wide'
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kafka_rack.diskless import PROFILE_SETTINGS
from mockbroker.state.configs.values import ConfigType, InvalidValueError, parse, text_of

FOLDER = Path(__file__).parent
SENSITIVE_TYPES = frozenset({ConfigType.PASSWORD})

TOPIC, BROKER, GROUP, CLIENT_METRICS = "topic", "broker", "group", "client_metrics"
OURS: dict[str, dict[str, list[Any]]] = {
    TOPIC: {"diskless.enable": ["BOOLEAN", "false", None, "MEDIUM", "internal"]},
    BROKER: {
        "diskless.enable": ["BOOLEAN", "false", None, "MEDIUM", "internal"],
        "diskless.profile": ["STRING", "kip-1163", None, "LOW", "internal"],
        **{name: ["STRING", value, None, "LOW", "internal"] for name, value in PROFILE_SETTINGS.items()},
        "replica.placement.failed.code": ["INT", "10660", None, "LOW", "internal"],
    },
}
"""What there is beyond Kafka 4.4, shown only where it was given: diskless topics (KIP-1150), placers' error."""
OUR_SYNONYMS = {"diskless.enable": [("diskless.enable", 1)]}


@dataclass(slots=True, frozen=True)
class ConfigDefinition:
    """One config of one kind of resource.

    ``default`` has the config's type; ``update_mode`` is ``read-only``, ``per-broker`` or ``cluster-wide``, of topics,
    groups and client metrics always the last.
    """

    kind: str
    name: str
    type: ConfigType
    default: Any
    validator: dict[str, Any] | None
    importance: str
    is_internal: bool
    update_mode: str

    @property
    def is_sensitive(self) -> bool:
        """Whether the value is a secret."""
        return self.type in SENSITIVE_TYPES

    @property
    def documentation(self) -> str | None:
        """Kafka's own text on the config, None for one that is ours."""
        return documentation(self.kind).get(self.name)

    def parse(self, text: Any, *, in_range: bool = True, distinct: bool = True) -> Any:
        """A value of the config's type out of text; a value that has the type already is taken too.

        Args:
            in_range: whether numbers have to be in the range that Kafka gives, too.
            distinct: take what a list has twice as being there once, as Kafka does but where brokers are changed.

        Raises: InvalidValueError: the value is not of the type, or not valid.

        >>> definition("topic", "cleanup.policy").parse(" compact , delete")
        ('compact', 'delete')
        """
        value = parse(self.name, text, self.type)
        if self.validator is not None:
            if distinct and value and self.validator["is"] == "ValidList":
                value = tuple(dict.fromkeys(value))
            from mockbroker.state.configs.validators import check

            check(self.name, value, self.validator, in_range=in_range)
        return value

    def text(self, value: object) -> str | None:
        """A value of the config's type as Kafka writes it."""
        return text_of(value)


def definition(kind: str, name: str) -> ConfigDefinition:
    """One definition. Raises KeyError: there is no such config."""
    found = find_definition(kind, name)
    if found is None:
        raise KeyError(f"{kind} config {name}")
    return found


@cache
def find_definition(kind: str, name: str) -> ConfigDefinition | None:
    """One definition, None if Kafka has no such config."""
    fields = OURS.get(kind, {}).get(name) or kafka_configs()[kind].get(name)
    if fields is None and kind == BROKER:
        fields = kafka_configs()["broker_dynamic_only"].get(name)
    if fields is None:
        return None
    type_, default, validator, importance, *internal = fields
    config_type = ConfigType[type_]
    mode = kafka_configs()["dynamic"].get(name, "read-only") if kind == BROKER else "cluster-wide"
    value = None if isinstance(default, dict) else parse(name, default, config_type)  # a dict: it has to be given
    return ConfigDefinition(kind, name, config_type, value, validator, importance, bool(internal), mode)


@cache
def names(kind: str) -> tuple[str, ...]:
    """The names of all configs of a kind, sorted; of brokers without those that can only be set at run time."""
    return tuple(sorted({*kafka_configs()[kind], *OURS.get(kind, ())}))


@cache
def line_of(kind: str, name: str) -> str:
    """The release line that brought a config, "4.0" for all that 4.0 has."""
    since: dict[str, dict[str, list[str]]] = json.loads((FOLDER / "since.json").read_text(encoding="ascii"))
    return next((line for line, kinds in since.items() if name in kinds.get(kind, ())), "4.0")


@cache
def dynamic_only_names() -> frozenset[str]:
    """Configs of brokers that can only be set at run time."""
    return frozenset(kafka_configs()["broker_dynamic_only"])


@cache
def topic_synonyms(name: str) -> tuple[tuple[str, int], ...]:
    """The brokers' configs that give a topic's its default, nearest first, each with the factor to the topic's unit.

    >>> topic_synonyms("retention.ms")
    (('log.retention.ms', 1), ('log.retention.minutes', 60000), ('log.retention.hours', 3600000))
    """
    found: list[tuple[str, int]] = OUR_SYNONYMS.get(name) or kafka_configs()["topic_synonyms"].get(name, [])
    return tuple((synonym, factor) for synonym, factor in found)


def group_synonym(name: str) -> str | None:
    """The brokers' config that gives a group's its default, None for one that has its own."""
    synonym: str | None = kafka_configs()["group_synonyms"].get(name)
    return synonym


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The names that a broker's config goes by, the one that counts most first.

    >>> broker_synonyms("log.roll.hours")
    ('log.roll.ms', 'log.roll.hours')
    """
    return tuple(kafka_configs()["broker_synonyms"].get(name, (name,)))


@cache
def kafka_configs() -> dict[str, Any]:
    """The data as it stands in its file."""
    data: dict[str, Any] = json.loads((FOLDER / "kafka_configs.json").read_text(encoding="ascii"))
    return data


@cache
def documentation(kind: str) -> dict[str, str]:
    """Kafka's texts on the configs of a kind, by name."""
    import gzip

    texts = json.loads(gzip.decompress((FOLDER / "kafka_documentation.json.gz").read_bytes()))
    found: dict[str, str] = texts[kind]
    return found | texts["broker_dynamic_only"] if kind == BROKER else found


__all__ = ["ConfigDefinition", "ConfigType", "InvalidValueError", "definition", "find_definition", "names"]
