"""Kafka's definitions of configs: type, default, valid values, synonyms, and update mode.

All definitions are read on first use, their documentation separately.

Source: kafka_configs.json and kafka_documentation.json.gz, from the classes of Apache Kafka 4.4.0, written by
tests/conformance/ConfigDefinitions.java. since.json, the configs new in 4.1 to 4.4, by ConfigsOfReleases.java.

>>> definition("topic", "retention.ms").default
604800000
>>> definition("broker", "log.retention.ms").update_mode
'cluster-wide'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from kafka_rack.diskless import PROFILE_SETTINGS, PROFILES
from mockbroker.state.configs.values import ConfigType, check, parse

TOPIC, BROKER, GROUP, CLIENT_METRICS = "topic", "broker", "group", "client_metrics"
OUR_NUMBERS = {
    "connection.first.byte.timeout.ms": (60000, 1),  # from the start of a connection to its first byte
    "max.decompressed.request.bytes": (33554432, 0),  # decompressed size of one request's records
    "max.request.items": (20000, 1),  # elements in all arrays of one request
    "records.max.bytes": (-1, -1),  # maximum size of all logs
    "replica.placement.failed.code": (10660, -(2**15)),  # KIP-660 has no number for its error
    "request.read.timeout.ms": (300000, 1),  # from a request's first byte to its last
}
"""Default and lowest value of the settings of brokers that Kafka does not have."""
OURS: dict[str, dict[str, list[Any]]] = {
    TOPIC: {"diskless.enable": ["BOOLEAN", "false", None]},
    BROKER: {
        "diskless.enable": ["BOOLEAN", "false", None],
        "diskless.profile": ["STRING", "kip-1163", {"is": "ValidString", "validStrings": list(PROFILES)}],
        **{name: ["STRING", value or None, None] for name, value in PROFILE_SETTINGS.items()},
        **{
            name: ["LONG", default, {"is": "Range", "min": lowest, "max": None}]
            for name, (default, lowest) in OUR_NUMBERS.items()
        },
    },
}
"""Configs beyond Kafka 4.4, shown only if set: diskless topics (KIP-1150), limits, placers' error."""


@dataclass(slots=True, frozen=True)
class ConfigDefinition:
    """A config of one kind of resource.

    ``default`` has the config's type; ``update_mode`` is ``read-only``, ``per-broker`` or ``cluster-wide``, for topics,
    groups and client metrics always the last. ``synonyms`` are the broker configs that set it too, nearest first, each
    with the factor to its unit; of a broker's config, itself is one of them.
    """

    kind: str
    name: str
    type: ConfigType
    default: Any
    validator: dict[str, Any] | None
    is_internal: bool
    update_mode: str
    synonyms: dict[str, int]

    @property
    def is_sensitive(self) -> bool:
        """True if the value is a secret."""
        return self.type is ConfigType.PASSWORD

    @property
    def documentation(self) -> str | None:
        """Kafka's documentation of the config, None for one of ours."""
        return documentation(self.kind).get(self.name)

    def parse(self, text: Any, *, in_range: bool = True, distinct: bool = True) -> Any:
        """A value of the config's type, parsed from text; typed values are accepted too.

        Args:
            in_range: check that numbers are in Kafka's range.
            distinct: remove duplicates from a list, as Kafka does except for changes of brokers.

        Raises: InvalidValueError: the value has a wrong type, or is not valid.

        >>> definition("topic", "cleanup.policy").parse(" compact , delete")
        ('compact', 'delete')
        """
        value = parse(self.name, text, self.type)
        if self.validator is not None:
            if distinct and value and self.validator["is"] == "ValidList":
                value = tuple(dict.fromkeys(value))
            check(self.name, value, self.validator, in_range=in_range)
        return value


def definition(kind: str, name: str) -> ConfigDefinition:
    """The definition of a config. Raises KeyError if it does not exist."""
    found = find_definition(kind, name)
    if found is None:
        raise KeyError(f"{kind} config {name}")
    return found


@cache
def find_definition(kind: str, name: str) -> ConfigDefinition | None:
    """The definition of a config, None if Kafka does not have it.

    >>> definition("topic", "retention.ms").synonyms
    {'log.retention.ms': 1, 'log.retention.minutes': 60000, 'log.retention.hours': 3600000}
    >>> definition("broker", "log.roll.hours").synonyms
    {'log.roll.ms': 1, 'log.roll.hours': 1}
    """
    ours = OURS.get(kind, {}).get(name)
    fields = [*ours, "LOW", "internal"] if ours else kafka_configs()[kind].get(name)
    if fields is None and kind == BROKER:
        fields = kafka_configs()["broker_dynamic_only"].get(name)
    if fields is None:
        return None
    type_, default, validator, _importance, *internal = fields
    config_type = ConfigType[type_]
    mode = kafka_configs()["dynamic"].get(name, "read-only") if kind == BROKER else "cluster-wide"
    value = None if isinstance(default, dict) else parse(name, default, config_type)  # a dict: no default
    itself = [(name, 1)] if kind == BROKER or ours else []
    synonyms = kafka_configs().get(f"{kind}_synonyms", {}).get(name, itself)
    return ConfigDefinition(kind, name, config_type, value, validator, bool(internal), mode, dict(synonyms))


@cache
def names(kind: str) -> tuple[str, ...]:
    """The names of all configs of a kind, sorted; for brokers without those that can only be set at run time."""
    return tuple(sorted({*kafka_configs()[kind], *OURS.get(kind, ())}))


@cache
def line_of(kind: str, name: str) -> str:
    """The release line that introduced a config, "4.0" for all configs of 4.0."""
    since: dict[str, dict[str, list[str]]] = msgspec.json.decode(data_file("since.json"))
    return next((line for line, kinds in since.items() if name in kinds.get(kind, ())), "4.0")


def data_file(name: str) -> bytes:
    """A file beside this module."""
    from pathlib import Path

    return (Path(__file__).parent / name).read_bytes()


@cache
def kafka_configs() -> dict[str, Any]:
    """The content of the data file."""
    data: dict[str, Any] = msgspec.json.decode(data_file("kafka_configs.json"))
    return data


@cache
def documentation(kind: str) -> dict[str, str]:
    """Kafka's documentation of the configs of a kind, by name."""
    import gzip

    texts = msgspec.json.decode(gzip.decompress(data_file("kafka_documentation.json.gz")))
    found: dict[str, str] = texts[kind]
    return found | texts["broker_dynamic_only"] if kind == BROKER else found
